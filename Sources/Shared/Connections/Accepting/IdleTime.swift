package import NIOCore

/// How long a connection was not used, counted from the check of its listener's timer that follows the last use
/// (``ConnectionRegistry/interval``): noting a use reads no clock, and no connection ends before its limit is exceeded.
package struct IdleTime: Sendable {
    /// Nil if the connection was used since the last check.
    private var since: NIODeadline?

    package init() {}

    package mutating func noteUse() { since = nil }

    /// Whether the connection was not used for longer than the limit. Asked at each check in which nothing is open: the time counts
    /// from the first one.
    package mutating func exceeds(_ limit: TimeAmount, at now: NIODeadline) -> Bool {
        guard let since else {
            self.since = now
            return false
        }
        return since + limit < now
    }
}
