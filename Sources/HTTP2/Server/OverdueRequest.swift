package import NIOCore

/// What is to be done about a request that has taken longer than it may. A connection looks at its requests once a second.
package enum OverdueRequest: Sendable, Hashable {
    /// It did not end, and has no answer.
    case unanswered
    /// It has had its answer, and the peer does not take it or goes on sending after it: its stream is reset.
    case answered
    /// It has been so for as long again: not even the reset could be sent, since the peer does not read. The connection
    /// is closed.
    case stuck

    /// Nil while the request is in time.
    /// - Parameters:
    ///   - began: when its headers began.
    ///   - timeout: how long it may take.
    package init?(began: NIODeadline, isAnswered: Bool, timeout: TimeAmount, now: NIODeadline) {
        guard began + timeout < now else { return nil }
        guard isAnswered else {
            self = .unanswered
            return
        }
        self = began + timeout * 2 < now ? .stuck : .answered
    }
}
