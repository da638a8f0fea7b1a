package import NIOCore

/// The delay before something is tried again. It grows with each failure up to a limit, and a random part is taken off,
/// so that many clients that failed together do not return together.
package struct GrowingDelay: Sendable, Hashable {
    /// The longest delay before the first new attempt.
    package var first: TimeAmount
    /// The longest delay before any attempt.
    package var longest: TimeAmount

    package init(first: TimeAmount, longest: TimeAmount) {
        self.first = first
        self.longest = longest
    }

    /// - Parameters:
    ///   - failures: the number of attempts that failed in a row: 1 before the first new attempt.
    ///   - random: from 0 to 1.
    /// - Returns: a delay between half of the grown value and all of it.
    package func delay(afterFailures failures: Int, random: Double) -> TimeAmount {
        let doublings = min(max(failures - 1, 0), 20)
        // fits: at most 20
        let (grown, overflow) = first.nanoseconds.multipliedReportingOverflow(by: 1 << Int64(doublings))
        let full = overflow ? longest.nanoseconds : min(grown, longest.nanoseconds)
        // fits: at most half of the longest delay
        return .nanoseconds(full / 2 + Int64(Double(full / 2) * min(max(random, 0), 1)))
    }
}
