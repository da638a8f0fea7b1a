/// The reason why a certificate, a request for one, a key or a secret was refused. It never contains key material.
package struct TrustError: Error, Sendable, Hashable, CustomStringConvertible {
    package enum Code: String, Sendable, Hashable, CaseIterable {
        /// The bytes do not have the expected form.
        case malformed
        /// The limit of bytes, certificates, names or topics was exceeded.
        case tooLarge
        /// A name that no certificate can carry.
        case badName
        /// A kind or size of key that is not accepted.
        case unsupportedKey
        /// A signature algorithm that is not accepted.
        case unsupportedAlgorithm
        /// The signature does not match the key.
        case badSignature
        /// A certificate that our authority did not issue for this role.
        case untrusted
        /// A certificate that is not valid yet.
        case notYetValid
        /// A certificate that has expired.
        case expired
        /// A certificate that was revoked.
        case revoked
        /// A certificate of ours made for another use.
        case wrongUse
        /// A critical extension that we do not know (RFC 5280, 4.2).
        case unknownCriticalExtension
        /// A library failed, and our input cannot be the reason.
        case failed
    }

    package let code: Code
    /// A sentence that says what was wrong.
    package let reason: String
    /// The shortened message of the library that failed; nil if none did.
    package let cause: String?

    /// The greatest length in characters. Such messages may quote their input, which comes from outside.
    package static let maximumCauseLength = 200

    package init(_ code: Code, _ reason: String, cause: (any Error)? = nil) {
        self.code = code
        self.reason = reason
        self.cause = cause.map { String(String(describing: $0).prefix(Self.maximumCauseLength)) }
    }

    /// The reason as the end of a longer sentence, without its full stop.
    package var clause: String {
        let text = reason.hasSuffix(".") ? reason.dropLast() : reason[...]
        return text.prefix(1).lowercased() + text.dropFirst()
    }

    package var description: String {
        guard let cause else { return "\(code.rawValue): \(reason)" }
        return "\(code.rawValue): \(reason) (\(cause))"
    }

    /// The number of the TLS alert that says the same to a client (RFC 8446, 6.2).
    package var tlsAlert: UInt8 {
        switch code {
        // bad_certificate: it is damaged, or a signature in it does not match.
        case .malformed, .tooLarge, .badName, .badSignature: 42
        // unsupported_certificate: it is of a type that is not for this use.
        case .unsupportedKey, .unsupportedAlgorithm, .wrongUse, .unknownCriticalExtension: 43
        case .revoked: 44
        // certificate_expired: it has expired or is not valid yet.
        case .expired, .notYetValid: 45
        // certificate_unknown: any other reason.
        case .failed: 46
        // unknown_ca
        case .untrusted: 48
        }
    }

    /// Runs `body`, and makes its error the cause of an error with the given code and reason.
    ///
    /// - Parameter quoting: false if the message might quote a secret.
    package static func wrapping<Value>(
        _ code: Code,
        _ reason: String,
        quoting: Bool = true,
        _ body: () throws -> Value,
    ) throws(TrustError) -> Value {
        do {
            return try body()
        } catch let error as TrustError {
            throw error
        } catch {
            throw TrustError(code, reason, cause: quoting ? error : nil)
        }
    }
}
