/// Why a notification got no answer.
package struct ProviderClientError: Error, Sendable, Hashable, CustomStringConvertible {
    package enum Code: Sendable, Hashable {
        /// The signing key, or the authority's certificate, cannot be read.
        case badCredentials
        /// The service cannot be reached, or the connection ended before the answer.
        case disconnected
    }

    package let code: Code
    /// What happened, in a sentence for a person.
    package let cause: String

    package init(_ code: Code, _ cause: String) {
        self.code = code
        self.cause = cause
    }

    package var description: String { cause }
}
