package import Credentials
import Crypto
import Foundation

/// Encrypts what the service has to keep of others' secrets, with AES-GCM: the credentials of upstreams. The key is one of
/// the store's secrets and not in the database, so a copy of the database alone reveals none of them.
package struct CredentialSeal: Sendable {
    package static let keyBytes = 32

    private let key: SymmetricKey

    /// - Returns: nil unless the key has ``keyBytes`` bytes.
    package init?(key: [UInt8]) {
        guard key.count == Self.keyBytes else { return nil }
        self.key = SymmetricKey(data: key)
    }

    /// A name of the service that all of its nodes know, and from which nobody can learn the key.
    package var serviceName: [UInt8] {
        Array(HMAC<SHA256>.authenticationCode(for: Array("carillon service name".utf8), using: key))
    }

    /// Makes a new key.
    package static func makeKey() -> [UInt8] { RandomBytes.make() }

    /// - Parameter name: identifies the owner of the value. The value can be decrypted only under the same name, so nobody who
    ///   can write to the database can give one owner's secret to another.
    package func seal(_ value: [UInt8], as name: String) throws(TrustError) -> [UInt8] {
        do {
            let box = try AES.GCM.seal(value, using: key, authenticating: Array(name.utf8))
            return box.combined.map { Array($0) } ?? []
        } catch {
            throw TrustError(.failed, "A secret could not be encrypted.")
        }
    }

    package func open(_ sealed: [UInt8], as name: String) throws(TrustError) -> [UInt8] {
        do {
            return Array(
                try AES.GCM.open(AES.GCM.SealedBox(combined: sealed), using: key, authenticating: Array(name.utf8)))
        } catch {
            throw TrustError(.badSignature, "A secret does not open under the service's key.")
        }
    }
}
