import Notifications
import Testing

/// Durations in the form of documents.
struct DurationTests {
    @Test(arguments: [
        ("PT0S", Duration.zero), ("PT5S", .seconds(5)), ("PT0.5S", .milliseconds(500)),
        ("PT0.000000001S", .nanoseconds(1)), ("PT1.25S", .milliseconds(1250)), ("PT2M", .seconds(120)),
        ("PT1H", .seconds(3600)), ("PT1H2M3S", .seconds(3723)), ("P1D", .seconds(86_400)),
        ("P1DT1S", .seconds(86_401)), ("P366D", .longestInDocuments),
    ])
    func `A duration is read`(text: String, duration: Duration) {
        #expect(Duration(iso8601: text) == duration)
    }

    @Test func `Weeks and a longer time are read where they are asked for`() {
        #expect(Duration(iso8601: "P2W1D", allowsWeeks: true) == .seconds(15 * 86_400))
        #expect(
            Duration(iso8601: "P1D2W", allowsWeeks: true) == nil && Duration(iso8601: "P", allowsWeeks: true) == nil)
        #expect(Duration(iso8601: "P٣W", allowsWeeks: true) == nil)
        #expect(Duration(iso8601: "P400D", longest: .seconds(400 * 86_400)) == .seconds(400 * 86_400))
        #expect(Duration(iso8601: "P401D", longest: .seconds(400 * 86_400)) == nil)
    }

    @Test(arguments: [
        (Duration.seconds(90), "PT90S"), (.milliseconds(1500), "PT1.5S"), (.nanoseconds(1), "PT0.000000001S"),
        (.zero, "PT0S"), (.milliseconds(-500), "PT-0.5S"), (.milliseconds(-1500), "PT-1.5S"), (.seconds(-1), "PT-1S"),
        (.seconds(3600), "PT1H"), (.seconds(86_400), "PT24H"), (.seconds(5400), "PT90M"), (.seconds(600), "PT10M"),
        (.seconds(3601), "PT3601S"), (.milliseconds(60_500), "PT60.5S"), (.seconds(-60), "PT-1M"),
    ])
    func `A duration is written in its largest whole unit, and a negative one has a sign`(
        duration: Duration, text: String
    ) {
        #expect(duration.iso8601 == text)
    }

    @Test(arguments: [
        "", "P", "PT", "5S", "P5S", "PT5", "PTS", "PT-1S", "PT+1S", "PT1.S", "PT.5S", "PT1.5M", "PT1S1M", "PT1S1S",
        "P1Y", "P1M", "P1W", "P1DT", "pt5s", "PT5S ", "PT1,5S", "P367D", "PT9999999999S", "PT0.0000000001S",
        "PT999999999H", "PT１S", "PT٥S", "P٣٠D",
    ])
    func `Any other text is not a duration`(text: String) {
        #expect(Duration(iso8601: text) == nil)
    }
}
