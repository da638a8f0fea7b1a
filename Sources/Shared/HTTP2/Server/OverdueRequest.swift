package import NIOCore

/// How to handle a request that takes longer than its limit. A connection checks its requests once a second.
package enum OverdueRequest: Sendable, Hashable {
    /// The request is incomplete and has no answer.
    case unanswered
    /// The request was answered, but the peer does not read the answer, or still sends the body. Its stream is reset.
    case answered
    /// The stream was reset, and after the same time once more the reset could not be sent, because the peer does not
    /// read. The connection is closed.
    case stuck

    /// Decides how to handle a request. Returns nil if the request is still in time.
    /// - Parameters:
    ///   - began: when its headers began.
    ///   - timeout: the time that it may take.
    package init?(began: NIODeadline, isAnswered: Bool, timeout: TimeAmount, now: NIODeadline) {
        guard began + timeout < now else { return nil }
        guard isAnswered else {
            self = .unanswered
            return
        }
        self = began + timeout * 2 < now ? .stuck : .answered
    }
}
