/// The reason why an upstream cannot be set or used. It never contains a secret.
package struct UpstreamError: Error, Sendable, Hashable, CustomStringConvertible {
    package enum Code: Sendable, Hashable {
        /// The address, the authority or the proxy cannot be used.
        case badAddress
        /// The credentials cannot be used.
        case badCredentials
        /// Two settings exclude each other.
        case contradiction
        /// The stored credentials do not open under the service's key.
        case sealed
        /// The app has another upstream by now, or none.
        case changed
    }

    package let code: Code
    /// The member of the document that is at fault, as a JSON pointer; empty if it is no single one.
    package let pointer: String
    /// A sentence for a person.
    package let cause: String

    init(_ code: Code, _ cause: String, at pointer: String = "") {
        self.code = code
        self.pointer = pointer
        self.cause = cause
    }

    package var description: String { cause }
}
