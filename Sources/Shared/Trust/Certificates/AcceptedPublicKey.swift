import Credentials
import Crypto
import CryptoExtras
import SwiftASN1
import X509

/// The public keys that our certificates may contain.
enum AcceptedPublicKey {
    /// The shortest RSA key in bits. Public authorities have required this since 2014.
    static let minimumRSABits = 2048
    /// The longest RSA key in bits. Longer keys would make each check more expensive, and are no better than P-256.
    static let maximumRSABits = 4096

    /// Refuses any key but P-256, P-384 and RSA of a usual size.
    static func check(_ key: Certificate.PublicKey) throws(TrustError) {
        if P256.Signing.PublicKey(key) != nil || P384.Signing.PublicKey(key) != nil { return }
        guard let rsa = _RSA.Signing.PublicKey(key) else {
            throw TrustError(.unsupportedKey, "The key is neither P-256, P-384 nor RSA.")
        }
        guard (minimumRSABits...maximumRSABits).contains(rsa.keySizeInBits) else {
            throw TrustError(
                .unsupportedKey,
                "The RSA key has \(rsa.keySizeInBits) bits, not \(minimumRSABits) to \(maximumRSABits).")
        }
    }

    /// SHA-256 of the key's SubjectPublicKeyInfo.
    static func fingerprint(of key: Certificate.PublicKey) throws -> [UInt8] {
        var coder = DER.Serializer()
        try coder.serialize(key)
        return Array(SHA256.hash(data: coder.serializedBytes))
    }
}
