package import HummingbirdCore
package import NIOCore

/// The limits of a connection's requests.
package struct RequestLimits: Sendable {
    /// The time within which a request has to arrive.
    package var request: TimeAmount
    /// A body may take longer if this many bytes arrive in a second; nil if it may not.
    package var bodyBytesPerSecond: Int?
    /// How long a client may leave an answer unread.
    package var answer: TimeAmount

    package init(request: TimeAmount, bodyBytesPerSecond: Int? = nil, answer: TimeAmount) {
        self.request = request
        self.bodyBytesPerSecond = bodyBytesPerSecond
        self.answer = answer
    }

    /// The limits on a request's header fields: bytes of all and of one, and their number. A browser with some cookies
    /// sends 4 KB in about 20 fields, a proxy adds a few, and a token of an identity provider has up to 4 KB.
    package static let headerBytes = 16_384
    package static let headerFields = 100

    /// How many requests a client may send before it has read the first answer. A browser sends fewer.
    package static let requestsAhead = 16

    /// How many bytes of a body are read after the answer is complete: what a client that is refused may have under way.
    package static let drainedBytes = 1 << 20

    /// How long the client may read the last answer before the connection is closed.
    package static let linger = TimeAmount.seconds(5)

    /// When a request that is still arriving has taken too long.
    /// - Parameters:
    ///   - began: when its fields came.
    ///   - arrived: how many bytes of its body have come.
    package func latestEnd(began: NIODeadline, arrived: Int) -> NIODeadline {
        // A large import takes longer than any fixed time, so each part of a body allows more time.
        let seconds = bodyBytesPerSecond.map { min(arrived / max(1, $0), 1_000_000_000) } ?? 0
        return began + request + .seconds(Int64(seconds))  // fits: at most a thousand million
    }

    /// The answer to a request that arrives too slowly.
    package var tooSlow: Problem {
        let pace = bodyBytesPerSecond.map { ", with at least \($0) bytes a second" } ?? ""
        return Problem(408, "The request arrived too slowly: its body has to be complete in time\(pace).")
    }

    /// The answer to a request with too many or too long header fields.
    package static var tooManyFields: Problem {
        Problem(431, "The header fields may have \(headerBytes) bytes, and there may be \(headerFields) of them.")
    }

    /// The limits for the parser of HTTP/1.1.
    package static let decoder = HTTP1Channel.Configuration.DecoderConfiguration(
        maxHeaderFieldSize: headerBytes, maxHeaderListSize: headerBytes, maxHeaderFieldCount: headerFields)
}
