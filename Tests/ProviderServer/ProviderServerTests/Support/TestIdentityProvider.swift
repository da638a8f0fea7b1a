import Crypto
import CryptoExtras
import Foundation
import Notifications

@testable import ProviderServer

/// An identity provider with its own keys, which signs tokens and writes its key set to a file.
struct TestIdentityProvider: Sendable {
    static let issuer = "https://id.example.com"
    static let audience = "shop"

    let file: String
    private let rsa: _RSA.Signing.PrivateKey
    private let p256 = P256.Signing.PrivateKey()

    init(folder: String) throws {
        file = folder + "/jwks.json"
        rsa = try _RSA.Signing.PrivateKey(keySize: .bits2048)
    }

    static func encoded(_ bytes: some DataProtocol) -> String {
        Data(bytes).base64EncodedString().replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
    }

    /// The keys as members of a key set.
    var rsaKey: JSONValue {
        get throws {
            let key = try rsa.publicKey.getKeyPrimitives()
            return [
                "kty": "RSA", "kid": "r1", "use": "sig", "alg": "RS256", "n": .string(Self.encoded(key.modulus)),
                "e": .string(Self.encoded(key.publicExponent)),
            ]
        }
    }

    var p256Key: JSONValue {
        let point = p256.publicKey.rawRepresentation
        return [
            "kty": "EC", "kid": "e1", "crv": "P-256", "x": .string(Self.encoded(point.prefix(32))),
            "y": .string(Self.encoded(point.suffix(32))),
        ]
    }

    /// A key of another kind, which has to be ignored.
    static let secretKey: JSONValue = ["kty": "oct", "kid": "h1", "k": "c2VjcmV0"]

    func write(_ keys: [JSONValue]) throws {
        let set: JSONValue = ["keys": .array(keys)]
        try Data(set.text.utf8).write(to: URL(fileURLWithPath: file), options: .atomic)
    }

    /// The member `identity` of an app's document.
    var document: JSONValue {
        ["issuer": .string(Self.issuer), "audience": .string(Self.audience), "keysFile": .string(file)]
    }

    /// The claims of a token that is valid for an hour.
    static func claims(user: String, at now: Timestamp) -> [String: JSONValue] {
        [
            "iss": .string(issuer), "aud": .string(audience), "sub": .string(user),
            "exp": .integer(Int64(now.seconds) + 3_600),
        ]
    }

    func token(_ claims: [String: JSONValue], algorithm: String = "ES256", keyID: String? = "e1") throws -> String {
        var header: [String: JSONValue] = ["alg": .string(algorithm), "typ": "JWT"]
        header["kid"] = keyID.map(JSONValue.string)
        return try signed(.object(header), .object(claims), algorithm: algorithm)
    }

    func signed(_ header: JSONValue, _ claims: JSONValue, algorithm: String) throws -> String {
        let text = Self.encoded(Data(header.text.utf8)) + "." + Self.encoded(Data(claims.text.utf8))
        let data = Data(text.utf8)
        let signature: Data
        switch algorithm {
        case "ES256": signature = try p256.signature(for: data).rawRepresentation
        case "RS256":
            signature = try rsa.signature(for: SHA256.hash(data: data), padding: .insecurePKCS1v1_5).rawRepresentation
        case "PS256": signature = try rsa.signature(for: SHA256.hash(data: data), padding: .PSS).rawRepresentation
        // The public key as the secret of an HMAC: the well-known mistake (RFC 8725, 2.1).
        case "HS256":
            let key = SymmetricKey(data: Data(p256.publicKey.pemRepresentation.utf8))
            signature = Data(HMAC<SHA256>.authenticationCode(for: data, using: key))
        default: signature = Data()
        }
        return text + "." + Self.encoded(signature)
    }
}
