import Crypto
import Foundation

/// Provider tokens made by hand.
enum SignedToken {
    /// - Parameter issuedAt: `iat`, as written.
    static func make(key pem: String, keyID: String, teamID: String, issuedAt: String? = nil) throws -> String {
        let issued = issuedAt ?? "\(Int(Date().timeIntervalSince1970))"
        let parts = [#"{"alg":"ES256","kid":"\#(keyID)"}"#, #"{"iss":"\#(teamID)","iat":\#(issued)}"#]
        let signed = parts.map { base64URL(Array($0.utf8)) }.joined(separator: ".")
        let signature = try P256.Signing.PrivateKey(pemRepresentation: pem).signature(for: Array(signed.utf8))
        return signed + "." + base64URL(signature.rawRepresentation)
    }

    private static func base64URL(_ bytes: some DataProtocol) -> String {
        Data(bytes).base64EncodedString().replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
    }
}
