import Connections
package import HTTP2Core

/// The reason why a session ended, for `HTTP2Application.sessionClosed(_:)`.
package enum SessionEnd: Sendable, CustomStringConvertible {
    /// The application called `close()`.
    case closed
    /// GOAWAY was sent or received, and the last stream has ended.
    case drained
    /// The peer closed the connection.
    case peerClosed
    /// The peer speaks plain HTTP/1: the first bytes were a request or a status line.
    case plainHTTP1
    /// The first bytes were neither HTTP/2's preface (RFC 9113, 3.4) nor HTTP/1.
    case badPreface
    /// The peer violated the protocol, and GOAWAY with this code was sent. The text contains no bytes of the peer.
    case protocolError(HTTP2ErrorCode, String)
    /// The peer exceeded a limit against floods, and GOAWAY with ENHANCE_YOUR_CALM was sent.
    case flood(FloodKind)
    /// The peer reads too slowly: more frames wait for it than `maxQueuedFrames`.
    case peerDoesNotRead
    /// The channel failed, for example in TLS.
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
        case .peerDoesNotRead: "the peer does not read the answers"
        case .channelError(let error): "channel error: \(ConnectionFailure.cause(of: error))"
        }
    }
}
