import Rates
import Testing

@Suite("Retry-After") struct RetryAfterTests {
    @Test(
        arguments: [
            (0, 0, 1), (5, 9, 1), (1, 0, 1), (1_000_000_000, 0, 1), (1_000_000_001, 0, 2),
            (9_500_000_000, 1_000_000_000, 9),
            (UInt64.max, 0, 18_446_744_074),
        ] as [(UInt64, UInt64, Int)])
    func `It is rounded up, and never less than a second`(_ opens: UInt64, _ now: UInt64, _ seconds: Int) {
        #expect(RetryAfter.seconds(until: opens, from: now) == seconds)
    }
}
