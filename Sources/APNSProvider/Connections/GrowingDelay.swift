import NIOCore

/// How long to wait before something is tried again: ever longer, up to a limit, and shortened at random, so that many
/// clients that failed together do not come back together.
struct GrowingDelay: Sendable, Hashable {
    /// Before the first new attempt, at most.
    var first: TimeAmount
    /// Before any, at most.
    var longest: TimeAmount

    /// Opening connections: "APNs treats rapid connection and disconnection as a denial-of-service attack" (Guide,
    /// 2.3.3.1). A restart of the other side takes a second, an outage is not made worse by a try in half a minute.
    static let connecting = GrowingDelay(first: .milliseconds(200), longest: .seconds(30))
    /// Sending a notification again: first within a second, then ever later.
    static let sending = GrowingDelay(first: .milliseconds(800), longest: .seconds(60))

    /// - Parameters:
    ///   - failures: how many attempts failed in a row, 1 for the first new attempt.
    ///   - random: from 0 to 1.
    /// - Returns: Between half of what it has grown to and all of it.
    func delay(afterFailures failures: Int, random: Double) -> TimeAmount {
        let doublings = min(max(failures - 1, 0), 20)
        let (grown, overflow) = first.nanoseconds.multipliedReportingOverflow(by: 1 << Int64(doublings))
        let full = overflow ? longest.nanoseconds : min(grown, longest.nanoseconds)
        return .nanoseconds(full / 2 + Int64(Double(full / 2) * min(max(random, 0), 1)))
    }
}
