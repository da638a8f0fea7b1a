import HTTP2

/// Why a device did not get what it asked for.
package struct DeviceError: Error, Sendable, Hashable, CustomStringConvertible {
    package enum Code: Sendable, Hashable {
        /// The identity cannot be read, or the courier does not take it.
        case badIdentity
        /// The courier cannot be reached, or the connection ended.
        case disconnected
        /// The courier refused; ``DeviceError/reason`` says with which word.
        case refused
        /// The courier sent what the protocol does not allow.
        case badResponse
        /// Another connection of this device has taken over.
        case takenOver
    }

    package let code: Code
    /// What happened, in a sentence for a person.
    package let cause: String
    /// The courier's reason, when it refused.
    package let reason: String?

    package init(_ code: Code, _ cause: String, reason: String? = nil) {
        self.code = code
        self.cause = cause
        self.reason = reason
    }

    init(_ error: HTTP2ClientError) { self.init(.disconnected, error.cause) }

    package var description: String { cause }
}
