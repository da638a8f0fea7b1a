package import Crypto
package import Notifications

/// Makes provider tokens: JSON Web Tokens that a provider signs with its key (Guide, 2.3.1).
package enum ProviderToken {
    /// - Parameter issuedAt: seconds since 1970.
    /// - Returns: the token, which follows `bearer ` in the `authorization` header.
    package static func sign(
        key: P256.Signing.PrivateKey,
        keyID: KeyID,
        teamID: TeamID,
        issuedAt: UInt64,
    ) throws(TrustError) -> String {
        // The identifiers have no characters that JSON escapes.
        let header = Base64URL.encoded(#"{"alg":"ES256","kid":"\#(keyID)"}"#.utf8)
        let claims = Base64URL.encoded(#"{"iss":"\#(teamID)","iat":\#(issuedAt)}"#.utf8)
        let signed = header + [UInt8(ascii: ".")] + claims
        let signature = try TrustError.wrapping(.failed, "The provider token could not be signed.", quoting: false) {
            try key.signature(for: signed)
        }
        // The signature is r and s, 32 bytes each (RFC 7518, 3.4).
        let token = signed + [UInt8(ascii: ".")] + Base64URL.encoded(signature.rawRepresentation)
        return String(decoding: token, as: UTF8.self)
    }
}
