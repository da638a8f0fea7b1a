import Crypto
import CryptoExtras
import Foundation
import HTTPAPI
import Notifications

/// The public keys of an identity provider: a JSON Web Key Set (RFC 7517) with keys for RS256 and ES256.
struct IdentityKeySet: Sendable {
    /// A key that can verify a signature.
    private enum VerificationKey: Sendable {
        case rsa(_RSA.Signing.PublicKey)
        case p256(P256.Signing.PublicKey)

        func fits(_ algorithm: IdentityToken.Algorithm) -> Bool {
            switch (self, algorithm) {
            case (.rsa, .rs256), (.p256, .es256): true
            default: false
            }
        }

        func verifies(_ token: IdentityToken) -> Bool {
            switch self {
            case .rsa(let key):
                // RS256 is RSASSA-PKCS1-v1_5 with SHA-256 (RFC 7518, 3.3).
                return key.isValidSignature(
                    _RSA.Signing.RSASignature(rawRepresentation: token.signature), for: SHA256.hash(data: token.signed),
                    padding: .insecurePKCS1v1_5)
            case .p256(let key):
                guard let signature = try? P256.Signing.ECDSASignature(rawRepresentation: token.signature) else {
                    return false
                }
                return key.isValidSignature(signature, for: token.signed)
            }
        }
    }

    private var keys: [(id: String?, key: VerificationKey)] = []

    /// - Parameter text: the content of the file.
    /// - Throws: why the file cannot be used. A key of an unknown type is ignored, as RFC 7517, 5 requires.
    init(_ text: [UInt8]) throws(ProviderServerError) {
        guard case .array(let values)? = (try? JSONValue(answer: text))?.members["keys"] else {
            throw ProviderServerError(
                .unusableFile, "The file is not a JSON Web Key Set: an object with the array keys.")
        }
        guard values.count <= ProviderServerLimits.identityKeys else {
            throw ProviderServerError(.unusableFile, "The file may have \(ProviderServerLimits.identityKeys) keys.")
        }
        for case .object(let value) in values {
            guard let key = Self.key(value) else { continue }
            keys.append((value["kid"]?.string, key))
        }
        guard !keys.isEmpty else {
            throw ProviderServerError(
                .unusableFile, "The file has no public key for RS256 (RSA, at least 2,048 bits) or ES256 (EC, P-256).")
        }
    }

    /// Returns a key; nil for one that is not for signatures with RS256 or ES256.
    private static func key(_ value: JSONMembers) -> VerificationKey? {
        guard value["use"] == nil || value["use"] == "sig" else { return nil }
        let algorithm = value["alg"]?.string
        switch value["kty"]?.string {
        case "RSA" where algorithm == nil || algorithm == "RS256":
            guard let modulus = bytes("n", value), let exponent = bytes("e", value),
                modulus.count <= ProviderServerLimits.identityKeyBytes, exponent.count <= 8
            else { return nil }
            return (try? _RSA.Signing.PublicKey(n: modulus, e: exponent)).map(VerificationKey.rsa)
        case "EC" where algorithm == nil || algorithm == "ES256":
            guard value["crv"]?.string == "P-256", let x = bytes("x", value), let y = bytes("y", value),
                x.count == 32, y.count == 32
            else { return nil }
            return (try? P256.Signing.PublicKey(rawRepresentation: x + y)).map(VerificationKey.p256)
        default: return nil
        }
    }

    private static func bytes(_ name: String, _ value: JSONMembers) -> Data? {
        value[name]?.string.flatMap { Base64URL.decoded(Array($0.utf8)[...], .token) }.map { Data($0) }
    }

    /// Whether one of the keys has made a signature. If the token names a key, only this key counts. If it does not,
    /// there has to be only one key for the algorithm, because RFC 7517, 4.5 lets `kid` select among several.
    func verifies(_ token: IdentityToken) -> Bool {
        let possible = keys.filter { known in
            known.key.fits(token.algorithm) && (token.keyID.map { known.id.isSame(as: $0) } ?? true)
        }
        guard token.keyID != nil || possible.count == 1 else { return false }
        return possible.contains { $0.key.verifies(token) }
    }
}
