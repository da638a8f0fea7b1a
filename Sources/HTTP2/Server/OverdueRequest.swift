package import NIOCore

/// How to handle a request that takes longer than its limit. A connection checks its requests once a second.
package enum OverdueRequest: Sendable, Hashable {
    /// The request did not end and has no answer.
    case unanswered
    /// The request has its answer, and the peer does not read it or still sends. Its stream is reset.
    case answered
    /// The request was reset, and after the same time again the reset is still not sent, because the peer does not
    /// read. The connection is closed.
    case stuck

    /// Nil while the request is in time.
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
