import Crypto
import Foundation

/// A team's signing key. Provider tokens are made by hand, so that each can be wrong in one way (Guide, 2.3.1).
struct Provider: Sendable {
    let teamID: String
    let keyID: String
    let key: P256.Signing.PrivateKey

    init(teamID: String, keyID: String, key: P256.Signing.PrivateKey) {
        self.teamID = teamID
        self.keyID = keyID
        self.key = key
    }

    init(teamID: String, keyID: String, keyFile: String) throws {
        let pem = try String(contentsOfFile: keyFile, encoding: .utf8)
        self.init(teamID: teamID, keyID: keyID, key: try P256.Signing.PrivateKey(pemRepresentation: pem))
    }

    /// A copy with changes.
    func with(teamID: String? = nil, keyID: String? = nil, key: P256.Signing.PrivateKey? = nil) -> Provider {
        Provider(teamID: teamID ?? self.teamID, keyID: keyID ?? self.keyID, key: key ?? self.key)
    }

    /// A valid token, made now.
    func token(issuedSecondsAgo age: Int = 0) throws -> String {
        try token(claims: claims(issuedAt: "\(Self.now - age)"))
    }

    /// A provider token with these JSON texts and a valid signature. nil means the usual text.
    func token(
        header: String? = nil,
        claims: String? = nil,
        signature: (P256.Signing.ECDSASignature) -> Data = { $0.rawRepresentation },
        encode: (Data) -> String = Provider.base64URL,
    ) throws -> String {
        let header = header ?? #"{"alg":"ES256","kid":"\#(keyID)"}"#
        let claims = claims ?? self.claims(issuedAt: "\(Self.now)")
        let signed = encode(Data(header.utf8)) + "." + encode(Data(claims.utf8))
        return signed + "." + encode(signature(try key.signature(for: Data(signed.utf8))))
    }

    /// - Parameter issuedAt: the JSON of `iat`.
    func claims(issuedAt: String) -> String { #"{"iss":"\#(teamID)","iat":\#(issuedAt)}"# }

    /// In seconds since 1970.
    static var now: Int { Int(Date().timeIntervalSince1970) }

    static func base64URL(_ data: Data) -> String {
        data.base64EncodedString()
            .replacingOccurrences(of: "+", with: "-")
            .replacingOccurrences(of: "/", with: "_")
            .replacingOccurrences(of: "=", with: "")
    }
}
