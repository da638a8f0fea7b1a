import Notifications
import Testing

@Suite("ISO 8601 durations")
struct ISODurationTests {
    @Test(arguments: [
        ("PT1H", Duration.seconds(3600)), ("PT0.5S", .milliseconds(500)), ("PT1H30M", .seconds(5400)),
        ("P2DT6H", .seconds(194_400)), ("P1W", .seconds(604_800)), ("P1W1D", .seconds(691_200)), ("PT0S", .zero),
        ("PT0,25S", .milliseconds(250)), ("PT0.000000001S", .nanoseconds(1)), ("PT90M", .seconds(5400)),
        ("P999999999W", .seconds(604_799_999_395_200)),
    ])
    func `A duration is read`(_ text: String, _ duration: Duration) {
        #expect(Duration(iso8601: text) == duration)
    }

    @Test(arguments: [
        "", "P", "PT", "T1H", "1H", "PT1", "PT1H ", " PT1H", "-PT1H", "PT-1H", "P1Y", "P1M", "PT1S1M", "PT1M1M", "P1DT",
        "PT0.5H", "PT.5S", "PT1.S", "PT1.5.5S", "pt1h", "PT1234567890S", "PT0.1234567890S", "P1H", "PT1D", "P1D1W",
        "PT１H",
    ])
    func `Anything else is refused`(_ text: String) {
        #expect(Duration(iso8601: text) == nil)
    }
}
