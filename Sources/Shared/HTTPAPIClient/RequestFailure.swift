import AsyncHTTPClient
import Connections
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL

/// The reason why an HTTP request has no answer, in words for a person.
package enum RequestFailure {
    package static func cause(of error: any Error) -> String {
        switch error {
        case let error as NIOConnectionError where error.connectionErrors.isEmpty:
            // Without an attempt there was no address, because the look-up failed.
            "the name of its host is not known"
        case let error as HTTPClientError: words(error)
        case is HTTPParserError: "what listens there does not speak HTTP"
        default: ConnectionFailure.clientCause(of: error)
        }
    }

    /// Whether the error is one of the connection, whose own text names types of libraries.
    package static func isOfConnection(_ error: any Error) -> Bool {
        error is HTTPClientError || error is HTTPParserError || error is IOError || error is ChannelError
            || error is NIOConnectionError || error is NIOSSLError || error is NIOSSLExtraError
            || error is BoringSSLError
    }

    /// The cause if the answer did not come within the time limit.
    package static let late = "it did not answer in time"
    /// The cause if the connection ended before the answer.
    package static let closed = "it closed the connection"

    private static func words(_ error: HTTPClientError) -> String {
        switch error {
        case .connectTimeout, .tlsHandshakeTimeout, .readTimeout, .writeTimeout, .deadlineExceeded:
            late
        case .remoteConnectionClosed, .uncleanShutdown: closed
        case .invalidURL, .emptyHost, .emptyScheme: "the address is not valid"
        default: error.shortDescription
        }
    }
}
