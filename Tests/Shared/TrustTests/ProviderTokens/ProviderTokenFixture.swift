import Crypto
import Foundation
import Notifications
import Trust

/// A team with a key. It makes tokens by hand, so that a test can make one part invalid.
struct TokenFixture {
    static let now: Double = 1_437_179_036

    let team = TeamID(checked: "DEF123GHIJ")
    let keyID = KeyID(checked: "ABC123DEFG")
    let privateKey = P256.Signing.PrivateKey()

    var key: ProviderKey { ProviderKey(id: keyID, team: team, publicKey: privateKey.publicKey) }

    static let header = #"{"alg":"ES256","kid":"ABC123DEFG"}"#
    static let claims = #"{"iss":"DEF123GHIJ","iat":1437179036}"#

    static func base64URL(_ bytes: some Sequence<UInt8>) -> String {
        Data(bytes).base64EncodedString()
            .replacingOccurrences(of: "+", with: "-")
            .replacingOccurrences(of: "/", with: "_")
            .replacingOccurrences(of: "=", with: "")
    }

    /// `bearer` and a token with a valid signature over the given texts.
    func value(
        header: String = header,
        claims: String = claims,
        encode: (Data) -> String = { base64URL($0) },
    ) throws -> String {
        let signed = encode(Data(header.utf8)) + "." + encode(Data(claims.utf8))
        let signature = try privateKey.signature(for: Data(signed.utf8))
        return "bearer " + signed + "." + encode(signature.rawRepresentation)
    }

    func value(issuedAt: Double) throws -> String {
        try value(claims: #"{"iss":"DEF123GHIJ","iat":\#(Int(issuedAt))}"#)
    }

    /// The reason of the rejection; nil if there is none.
    func reason(
        _ value: String,
        conformance: Conformance = .apple,
        environment: Environment = .development,
        now: Double = now,
        keys: [ProviderKey]? = nil,
    ) -> Rejection.Reason? {
        do {
            _ = try verify(value, conformance: conformance, environment: environment, now: now, keys: keys)
            return nil
        } catch {
            return error.reason
        }
    }

    func verify(
        _ value: String,
        conformance: Conformance = .apple,
        environment: Environment = .development,
        now: Double = now,
        keys: [ProviderKey]? = nil,
    ) throws(Rejection) -> VerifiedProviderToken {
        let known = keys ?? [key]
        return try ProviderTokenRules(conformance: conformance).verify(
            authorization: Array(value.utf8).span, environment: environment, now: now,
            key: { id in known.first { $0.id == id } })
    }
}
