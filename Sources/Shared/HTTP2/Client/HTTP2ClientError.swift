/// The reason why a request got no response.
package struct HTTP2ClientError: Error, Sendable, Hashable, CustomStringConvertible {
    package enum Code: Sendable, Hashable {
        /// There is no connection: no server listens there, or the TLS handshake failed.
        case cannotConnect
        /// The connection ended before the response did.
        case connectionEnded
        /// The server ended this one request.
        case streamReset
        case timedOut
        /// The response is longer than the caller allows.
        case responseTooLarge
    }

    package let code: Code
    /// A sentence for a person that says what happened.
    package let cause: String

    package init(_ code: Code, _ cause: String) {
        self.code = code
        self.cause = cause
    }

    package var description: String { cause }
}
