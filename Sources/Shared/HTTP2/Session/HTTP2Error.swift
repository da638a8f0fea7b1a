/// The reason why a request could not begin.
package struct HTTP2Error: Error, Hashable, Sendable, CustomStringConvertible {
    /// The kind of the error, for decisions in code.
    package enum Code: Hashable, Sendable {
        /// The session is not active yet, is closing, or is closed.
        case notActive
        /// GOAWAY was received or a drain was begun: no new stream may be opened, use another connection.
        case goingAway
        /// All 2^30 stream numbers are used up (RFC 9113, 5.1.1): use another connection.
        case streamsUsedUp
        /// As many streams are open as the peer allows: wait until one is closed.
        case tooManyStreams
        /// The session is a server's; only a client makes requests.
        case notAClient
        /// The library refused; `detail` has its reason.
        case library
    }

    /// The kind of the error.
    package let code: Code
    /// Details for the log; empty if the code says everything. Never contains header or body bytes.
    package let detail: String

    package init(_ code: Code, detail: String = "") {
        self.code = code
        self.detail = detail
    }

    package var description: String {
        let text =
            switch code {
            case .notActive: "the HTTP/2 session is not active"
            case .goingAway: "the HTTP/2 session is going away"
            case .streamsUsedUp: "the HTTP/2 session has used up its stream numbers"
            case .tooManyStreams: "as many HTTP/2 streams are open as the peer allows"
            case .notAClient: "only a client's HTTP/2 session can make requests"
            case .library: "the HTTP/2 library refused"
            }
        return detail.isEmpty ? text : text + ": " + detail
    }
}
