import HTTP2Core

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
        /// The fields break a rule (RFC 9113, 8.2 and 8.3); `detail` names it.
        case malformed
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
            case .malformed: "the request's fields break a rule of HTTP/2"
            }
        return detail.isEmpty ? text : text + ": " + detail
    }
}

extension HTTP2Error {
    init(opening failure: HTTP2Endpoint.OpenFailure) {
        switch failure {
        case .notActive: self.init(.notActive)
        case .goingAway: self.init(.goingAway)
        case .streamsUsedUp: self.init(.streamsUsedUp)
        case .tooManyStreams: self.init(.tooManyStreams)
        case .malformed(let fault): self.init(.malformed, detail: fault.description)
        }
    }
}
