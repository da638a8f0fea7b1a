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

    /// How long a stream stays open whose request was answered before its body had ended. Some clients, such as curl 7.88,
    /// drop an answer if the reset comes with it (RFC 9113, 8.1), so the reset comes a second or two later. Others wait
    /// until the stream ends before they send anything else.
    package static let linger = TimeAmount.seconds(1)

    /// Decides how to handle a request. Returns nil if the request is still in time.
    /// - Parameters:
    ///   - began: when its headers began.
    ///   - cutShort: when it was answered, if its body had not ended; nil for any other request.
    ///   - timeout: the time that it may take.
    package init?(
        began: NIODeadline,
        isAnswered: Bool,
        cutShort: NIODeadline? = nil,
        timeout: TimeAmount,
        now: NIODeadline,
    ) {
        if let cutShort, cutShort + Self.linger < now, began + timeout * 2 >= now {
            self = .answered
            return
        }
        guard began + timeout < now else { return nil }
        guard isAnswered else {
            self = .unanswered
            return
        }
        self = began + timeout * 2 < now ? .stuck : .answered
    }
}
