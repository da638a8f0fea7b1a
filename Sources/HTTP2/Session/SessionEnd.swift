import Connections

/// Why a session ended, told once in `HTTP2Application.sessionClosed(_:)`.
package enum SessionEnd: Sendable, CustomStringConvertible {
    /// The application called `close()`.
    case closed
    /// GOAWAY was sent or received, and the last stream is done.
    case drained
    /// The peer closed the connection.
    case peerClosed
    /// The peer speaks plain HTTP/1: the first bytes were a request, or a response's status line.
    case plainHTTP1
    /// The first bytes were neither HTTP/2's preface (RFC 9113, 3.4) nor HTTP/1.
    case badPreface
    /// The peer broke the protocol; GOAWAY with this code was sent. The text is the library's, without peer's bytes.
    case protocolError(HTTP2ErrorCode, String)
    /// The peer passed a limit that protects against floods; GOAWAY with ENHANCE_YOUR_CALM was sent.
    case flood(FloodGuard.Kind)
    /// The peer reads too slowly for what it asks: more frames wait for it than `maxQueuedFrames`.
    case peerDoesNotRead
    /// The channel failed, in TLS for example.
    case channelError(any Error)

    package var description: String {
        switch self {
        case .closed: "closed"
        case .drained: "drained"
        case .peerClosed: "closed by the peer"
        case .plainHTTP1: "the peer speaks HTTP/1"
        case .badPreface: "the peer does not speak HTTP/2"
        case .protocolError(let code, let text): text.isEmpty ? "\(code)" : "\(code): \(text)"
        case .flood(let kind): "flood of \(kind.rawValue)"
        case .peerDoesNotRead: "the peer does not read what it asked for"
        case .channelError(let error): "channel error: \(ConnectionFailure.cause(of: error))"
        }
    }
}
