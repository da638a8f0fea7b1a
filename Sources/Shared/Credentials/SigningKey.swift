package import Crypto
import Foundation
package import Notifications

/// A provider's signing key as the account page provides it: an identifier, and a private key in a `.p8` file (PKCS#8,
/// PEM).
package struct SigningKey: Sendable, CustomStringConvertible {
    /// The largest size of a key in PEM, in bytes. A P-256 key has some 250, and a key store writes its attributes and
    /// certificates beside it.
    package static let maximumBytes = 16_384

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
        privateKey = try PEM(pem).signingKey
    }

    /// Reads a public key in PEM, or its uncompressed point (X9.63) in Base64.
    /// - Throws: ``TrustError`` if the text is neither.
    package static func publicKey(in text: String) throws(TrustError) -> P256.Signing.PublicKey {
        // A text that is no point may be PEM, whose error says more.
        let point = Data(base64Encoded: text.trimmingCharacters(in: .whitespacesAndNewlines)).flatMap {
            try? P256.Signing.PublicKey(x963Representation: $0)
        }
        guard let point else { return try PEM(text).verifyingKey }
        return point
    }

    /// The contents of the `.p8` file.
    package var pem: String { privateKey.pemRepresentation + "\n" }

    package var description: String { "SigningKey(\(id))" }
}
