package import Crypto
import Foundation
package import Notifications

/// A provider's signing key as the account page provides it: an identifier, and a private key in a `.p8` file (PKCS#8,
/// PEM).
package struct SigningKey: Sendable, CustomStringConvertible {
    /// The largest size of a key in PEM, in bytes. A P-256 key has some 250.
    package static let maximumBytes = 4096

    package let id: KeyID
    package let privateKey: P256.Signing.PrivateKey

    /// Makes a new key with a new identifier.
    package static func create(using generator: inout some RandomNumberGenerator) -> SigningKey {
        SigningKey(id: .random(using: &generator), privateKey: P256.Signing.PrivateKey())
    }

    package init(id: KeyID, privateKey: P256.Signing.PrivateKey) {
        self.id = id
        self.privateKey = privateKey
    }

    /// Reads the contents of a `.p8` file.
    package init(id: KeyID, pem: String) throws(TrustError) {
        guard pem.utf8.count <= Self.maximumBytes else {
            throw TrustError(.tooLarge, "The signing key is larger than \(Self.maximumBytes) bytes.")
        }
        self.id = id
        privateKey = try TrustError.wrapping(.malformed, "This is not a P-256 private key in PEM.", quoting: false) {
            try Self.privateKey(pem: pem)
        }
    }

    /// Reads a private key in PEM. `openssl ecparam -genkey` writes a block with the curve's name before the key. RFC
    /// 5915 has only the key.
    package static func privateKey(pem: String) throws -> P256.Signing.PrivateKey {
        let (begin, end) = ("-----BEGIN EC PARAMETERS-----", "-----END EC PARAMETERS-----")
        guard let start = pem.firstRange(of: begin), let rest = pem[start.upperBound...].firstRange(of: end) else {
            return try P256.Signing.PrivateKey(pemRepresentation: pem)
        }
        let key = String(pem[..<start.lowerBound] + pem[rest.upperBound...])
        return try P256.Signing.PrivateKey(pemRepresentation: key)
    }

    /// Reads a public key in PEM, or its uncompressed point (X9.63) in Base64.
    /// - Returns: nil if the text is neither.
    package static func publicKey(in text: String) -> P256.Signing.PublicKey? {
        let point = Data(base64Encoded: text).flatMap { try? P256.Signing.PublicKey(x963Representation: $0) }
        return point ?? (try? P256.Signing.PublicKey(pemRepresentation: text))
    }

    /// The contents of the `.p8` file.
    package var pem: String { privateKey.pemRepresentation + "\n" }

    package var description: String { "SigningKey(\(id))" }
}
