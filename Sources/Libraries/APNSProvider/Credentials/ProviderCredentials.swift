package import Credentials
import Crypto
import Foundation
import NIOSSL
package import Notifications

/// The credentials that authorise a provider: a signing key for provider tokens (Guide, 2.3.1), or a certificate
/// (2.3.2).
public struct ProviderCredentials: Sendable {
    package enum Kind: Sendable {
        case token(TeamID, SigningKey)
        case certificate(ProviderCertificate)
        /// Each request has a provider token of its own.
        case passthrough
    }

    package let kind: Kind

    private init(_ kind: Kind) { self.kind = kind }

    /// For a gateway that passes on the provider tokens of its clients.
    package static let passthrough = ProviderCredentials(.passthrough)

    /// Reads a signing key from a `.p8` file, as the developer account provides it.
    /// - Parameters:
    ///   - keyFile: the file's path.
    ///   - keyID: as in the file's name. Apple's have ten capital letters and digits.
    ///   - teamID: Apple's have ten capital letters and digits.
    /// - Throws: ``ProviderError/Code/badCredentials`` if the file cannot be read or contains no P-256 key, or if an
    ///   ID does not have this form.
    public init(keyFile: String, keyID: String, teamID: String) throws(ProviderError) {
        guard let data = FileManager.default.contents(atPath: keyFile) else {
            throw ProviderError(.badCredentials, "The signing key \(keyFile) cannot be read.")
        }
        do {
            try self.init(key: String(decoding: data, as: UTF8.self), keyID: keyID, teamID: teamID)
        } catch {
            throw ProviderError(error.code, "\(keyFile): \(error.cause)")
        }
    }

    /// Creates credentials from a signing key.
    /// - Parameters:
    ///   - key: the contents of the `.p8` file, PEM.
    ///   - keyID: Apple's have ten capital letters and digits.
    ///   - teamID: Apple's have ten capital letters and digits.
    /// - Throws: ``ProviderError/Code/badCredentials`` if this is not a P-256 key, or if an ID does not have this
    ///   form.
    public init(key: String, keyID: String, teamID: String) throws(ProviderError) {
        guard let team = TeamID(rawValue: teamID) else {
            throw ProviderError(.badCredentials, "The team ID has to be \(AccountIDs.form), not \(teamID).")
        }
        guard let id = KeyID(rawValue: keyID) else {
            throw ProviderError(.badCredentials, "The key ID has to be \(AccountIDs.form), not \(keyID).")
        }
        do {
            kind = .token(team, try SigningKey(id: id, pem: key))
        } catch {
            // Provider tokens have ES256 alone (Guide, 2.3.1).
            let isOther = error.code == .unsupportedKey
            throw ProviderError(
                .badCredentials,
                "The signing key cannot be used: \(error.clause)."
                    + (isOther ? " Provider tokens are signed with P-256 alone." : ""))
        }
    }

    /// Reads a provider certificate from a PEM file with the certificate, its chain if there is one, and its private
    /// key.
    /// - Parameters:
    ///   - certificateFile: the file's path.
    ///   - keyFile: the path of the private key in PEM, if the key has its own file.
    /// - Throws: ``ProviderError/Code/badCredentials`` if a file cannot be read, or if the key does not belong to
    ///   the certificate.
    public init(certificateFile: String, keyFile: String? = nil) throws(ProviderError) {
        let certificate = try Self.read(certificateFile)
        let key = try keyFile.map { (file) throws(ProviderError) in try Self.read(file) }
        do {
            try self.init(certificate: certificate, key: key)
        } catch {
            throw ProviderError(error.code, "\(certificateFile): \(error.cause)")
        }
    }

    /// Creates credentials from a provider certificate.
    /// - Parameters:
    ///   - certificate: PEM text with the certificate, its chain, and its private key unless `key` is given.
    ///   - key: the private key in PEM.
    /// - Throws: ``ProviderError/Code/badCredentials`` if either cannot be read, or if the key does not belong to
    ///   the certificate.
    public init(certificate: String, key: String? = nil) throws(ProviderError) {
        kind = .certificate(try ProviderCertificate(pem: certificate, key: key ?? certificate))
    }

    /// Makes a new provider token, the text after `bearer ` in the `authorization` header.
    /// - Parameter moment: the time of issue, in seconds since 1970.
    package func token(at moment: UInt64) throws(ProviderError) -> String {
        guard case .token(let team, let key) = kind else {
            throw ProviderError(.badCredentials, "Provider tokens need a signing key, not a certificate.")
        }
        do {
            return try ProviderToken.sign(key: key.privateKey, keyID: key.id, teamID: team, issuedAt: moment)
        } catch {
            throw ProviderError(.badCredentials, error.reason)
        }
    }

    private static func read(_ file: String) throws(ProviderError) -> String {
        guard let data = FileManager.default.contents(atPath: file), data.count <= ProviderCertificate.maximumBytes
        else { throw ProviderError(.badCredentials, "The certificate \(file) cannot be read.") }
        return String(decoding: data, as: UTF8.self)
    }
}
