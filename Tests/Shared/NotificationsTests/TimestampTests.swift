import Notifications
import Testing

@Suite("Timestamp and expiration")
struct TimestampTests {
    @Test
    func `Seconds become milliseconds, and seconds beyond any clock become the last possible time`() {
        #expect(Timestamp(seconds: 0).milliseconds == 0)
        #expect(Timestamp(seconds: 1_700_000_000).milliseconds == 1_700_000_000_000)
        #expect(Timestamp(seconds: .max / 1000).milliseconds == 18_446_744_073_709_551_000)
        #expect(Timestamp(seconds: .max / 1000 + 1).milliseconds == .max)
        #expect(Timestamp(seconds: .max).milliseconds == .max)
    }

    @Test
    func `Whole seconds are rounded down`() {
        #expect(Timestamp(milliseconds: 1999).seconds == 1)
        #expect(Timestamp(milliseconds: 999).seconds == 0)
    }

    private static let moves: [(start: UInt64, duration: Duration, end: UInt64)] = [
        (1000, .milliseconds(1), 1001), (1000, .zero, 1000), (1000, .milliseconds(-1), 999),
        (1000, .seconds(-1), 0), (1000, .seconds(-2), 0), (1000, .microseconds(1999), 1001),
        (1000, .seconds(2_592_000), 2_592_001_000),
        (.max, .milliseconds(1), .max), (.max - 1, .milliseconds(1), .max), (0, .milliseconds(-1), 0),
        (1000, .seconds(Int64.max), .max), (1000, .seconds(Int64.min), 0),
        (0, .seconds(Int64.max / 1000), 9_223_372_036_854_775_000), (0, .seconds(Int64.min / 1000), 0),
    ]

    @Test(arguments: moves)
    func `A time can be moved by a duration, and stops at the first and last possible time`(
        _ start: UInt64, _ duration: Duration, _ end: UInt64
    ) {
        #expect(Timestamp(milliseconds: start).advanced(by: duration).milliseconds == end)
    }

    @Test
    func `A duration beyond the largest negative one leads to 1970, not to the last time`() {
        let duration = Duration.seconds(Int64.min / 1000) - .milliseconds(900)
        #expect(Timestamp(milliseconds: 1000).advanced(by: duration).milliseconds == 0)
    }

    @Test
    func `Times are ordered`() {
        #expect(Timestamp(milliseconds: 1) < Timestamp(milliseconds: 2))
        #expect(!(Timestamp(milliseconds: 2) < Timestamp(milliseconds: 2)))
    }

    @Test
    func `An expiration of 0 seconds is immediate, and any other is a date`() {
        #expect(Expiration(seconds: 0) == .immediately)
        #expect(Expiration(seconds: 1) == .at(1))
        #expect(Expiration(seconds: .max) == .at(.max))
    }

    @Test(
        arguments: [(.unspecified, nil), (.immediately, 0), (.at(1), 1), (.at(.max), .max)] as [(Expiration, UInt64?)])
    func `An expiration keeps the provider's seconds`(_ expiration: Expiration, _ seconds: UInt64?) {
        #expect(expiration.seconds == seconds)
    }
}
