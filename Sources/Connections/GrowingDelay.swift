package import NIOCore

/// How long to wait before something is tried again: ever longer, up to a limit, and shortened at random, so that many
/// clients that failed together do not come back together.
package struct GrowingDelay: Sendable, Hashable {
    /// Before the first new attempt, at most.
    package var first: TimeAmount
    /// Before any, at most.
    package var longest: TimeAmount

    package init(first: TimeAmount, longest: TimeAmount) {
        self.first = first
        self.longest = longest
    }

    /// - Parameters:
    ///   - failures: how many attempts failed in a row, 1 for the first new attempt.
    ///   - random: from 0 to 1.
    /// - Returns: Between half of what it has grown to and all of it.
    package func delay(afterFailures failures: Int, random: Double) -> TimeAmount {
        let doublings = min(max(failures - 1, 0), 20)
        let (grown, overflow) = first.nanoseconds.multipliedReportingOverflow(by: 1 << Int64(doublings))
        let full = overflow ? longest.nanoseconds : min(grown, longest.nanoseconds)
        return .nanoseconds(full / 2 + Int64(Double(full / 2) * min(max(random, 0), 1)))
    }
}
