import Credentials
import Crypto
import Foundation
import Notifications
import Testing
import Trust

@Suite("Provider tokens")
struct ProviderTokenTests {
    private let fixture = TokenFixture()

    @Test
    func `A token that was signed here has its team, key and time`() throws {
        let token = try ProviderToken.sign(
            key: fixture.privateKey, keyID: fixture.keyID, teamID: fixture.team, issuedAt: 1_437_179_000)
        let verified = try fixture.verify("bearer " + token)
        #expect(verified.team == fixture.team)
        #expect(verified.key == fixture.keyID)
        #expect(verified.issuedAt == 1_437_179_000)
        #expect(verified.bundleIDs == nil)
    }

    @Test
    func `A token of a key for some apps has these apps`() throws {
        let bundleID = try #require(BundleID(rawValue: "com.example.app"))
        let key = ProviderKey(
            id: fixture.keyID, team: fixture.team, publicKey: fixture.privateKey.publicKey, bundleIDs: [bundleID])
        #expect(try fixture.verify(fixture.value(), keys: [key]).bundleIDs == [bundleID])
    }

    @Test(arguments: ["bearer", "Bearer", "BEARER", "bEaReR"])
    func `The scheme is bearer in any case`(scheme: String) throws {
        #expect(try fixture.reason(scheme + fixture.value().dropFirst(6)) == nil)
    }

    @Test
    func `Several spaces after the scheme are accepted`() throws {
        #expect(try fixture.reason("bearer  " + fixture.value().dropFirst(6)) == nil)
    }

    @Test(arguments: ["", "bearer", "bearer ", "Bearer   "])
    func `A missing token is reported as missing`(value: String) {
        #expect(fixture.reason(value) == .missingProviderToken)
    }

    @Test(arguments: ["basic ", "beare ", "bearer\t", "bearer", "", "b"])
    func `Another scheme is refused`(scheme: String) throws {
        #expect(try fixture.reason(scheme + fixture.value().dropFirst(7)) == .invalidProviderToken)
    }

    @Test
    func `Base64 in either alphabet, padded or not, is accepted`() throws {
        // These claims encode to text with both characters in which the two alphabets differ.
        let claims = #"{"iss":"DEF123GHIJ","iat":1437179036,"note":"???>>>~~~ÿÿ!"}"#
        let standard = { (data: Data) in data.base64EncodedString() }
        let padded = { (data: Data) in
            data.base64EncodedString().replacingOccurrences(of: "+", with: "-").replacingOccurrences(of: "/", with: "_")
        }
        let unpadded = { (data: Data) in data.base64EncodedString().replacingOccurrences(of: "=", with: "") }
        for encode in [standard, padded, unpadded] {
            #expect(try fixture.reason(fixture.value(claims: claims, encode: encode)) == nil)
        }
        #expect(standard(Data(claims.utf8)).contains("/"))
        #expect(standard(Data(claims.utf8)).contains("="))
    }

    @Test(arguments: [
        #"{"kid":"ABC123DEFG"}"#,
        #"{"alg":"none","kid":"ABC123DEFG"}"#,
        #"{"alg":"None","kid":"ABC123DEFG"}"#,
        #"{"alg":"HS256","kid":"ABC123DEFG"}"#,
        #"{"alg":"RS256","kid":"ABC123DEFG"}"#,
        #"{"alg":"es256","kid":"ABC123DEFG"}"#,
        #"{"alg":["ES256"],"kid":"ABC123DEFG"}"#,
        #"{"alg":null,"kid":"ABC123DEFG"}"#,
        #"{"alg":"ES256"}"#,
        #"{"alg":"ES256","kid":""}"#,
        #"{"alg":"ES256","kid":"abc123defg"}"#,
        #"{"alg":"ES256","kid":"ABC123DEFGH"}"#,
        #"{"alg":"ES256","kid":1234567890}"#,
        #"{"alg":"ES256","kid":"ABC123DEFG","crit":["b64"]}"#,
        #"{"alg":"none","alg":"ES256","kid":"ABC123DEFG"}"#,
        #"{"alg":"ES256","\u0061lg":"ES256","kid":"ABC123DEFG"}"#,
        #"{"alg":"ES256","kid":"ABC123DEFG","kid":"ABC123DEFG"}"#,
        #"{"alg":"ES256","kid":"ABC123DEFG"} x"#,
        #"["ES256"]"#, "null", "", "{",
    ])
    func `A header without alg ES256 and a kid is refused`(header: String) throws {
        #expect(try fixture.reason(fixture.value(header: header)) == .invalidProviderToken)
    }

    /// The tests of widely used clients have such identifiers.
    @Test(arguments: [("my-team", "ABC123DEFG"), ("DEF123GHIJ", "my_key-1"), ("abcdefghij", "ABC123DEFG")])
    func `An identifier that no developer account has is accepted, but not by strict`(
        _ team: String, _ key: String
    ) throws {
        let value = try fixture.value(
            header: #"{"alg":"ES256","kid":"\#(key)"}"#, claims: #"{"iss":"\#(team)","iat":1437179036}"#)
        let keys = [
            ProviderKey(
                id: KeyID(checked: key), team: TeamID(checked: team), publicKey: fixture.privateKey.publicKey)
        ]
        #expect(fixture.reason(value, keys: keys) == nil)
        #expect(fixture.reason(value, conformance: .strict, keys: keys) == .invalidProviderToken)
    }

    /// A widely used client in PHP signs with P-256 and SHA-256, and writes ES512.
    @Test(arguments: ["ES512", "ES384"])
    func `Another ECDSA name for the same signature is accepted, but not by strict`(_ name: String) throws {
        let value = try fixture.value(header: #"{"alg":"\#(name)","kid":"ABC123DEFG"}"#)
        #expect(fixture.reason(value) == nil)
        #expect(fixture.reason(value, conformance: .strict) == .invalidProviderToken)
    }

    @Test(arguments: [
        #"{"typ":"JWT","alg":"ES256","kid":"ABC123DEFG"}"#,
        " {\n \"alg\" : \"ES256\",\r\n\t\"kid\" : \"ABC123DEFG\" } ",
        #"{"alg":"ES256","kid":"ABC123DEFG","x":{"y":[1,{"z":null}]},"t":true,"f":false}"#,
        #"{"alg":"\u0045S256","kid":"ABC123DEFG"}"#,
    ])
    func `Further keys in the header are accepted`(header: String) throws {
        #expect(try fixture.reason(fixture.value(header: header)) == nil)
    }

    @Test(arguments: [
        #"{"iat":1437179036}"#,
        #"{"iss":"DEF123GHIJ"}"#,
        #"{"iss":"DEF123GHIJ","iss":"DEF123GHIJ","iat":1437179036}"#,
        #"{"iss":"DEF123GHIJ","iat":1437179036,"iat":1437179036}"#,
        #"{"iss":"DEF123GHI","iat":1437179036}"#,
        #"{"iss":["DEF123GHIJ"],"iat":1437179036}"#,
        #"{"iss":"DEF123GHIJ","iat":null}"#,
        #"{"iss":"DEF123GHIJ","iat":true}"#,
        #"{"iss":"DEF123GHIJ","iat":[1437179036]}"#,
        #"{"iss":"DEF123GHIJ","iat":"now"}"#,
        #"{"iss":"DEF123GHIJ","iat":""}"#,
        #"{"iss":"DEF123GHIJ","iat":" 1437179036"}"#,
        #"{"iss":"DEF123GHIJ","iat":"0x55A9"}"#,
        #"{"iss":"DEF123GHIJ","iat":"nan"}"#,
        #"{"iss":"DEF123GHIJ","iat":"inf"}"#,
        #"{"iss":"DEF123GHIJ","iat":1e999}"#,
        #"{"iss":"DEF123GHIJ","iat":01437179036}"#,
        #"{"iss":"DEF123GHIJ","iat":+1437179036}"#,
        #"{"iss":"DEF123GHIJ","iat":1437179036.}"#,
        #"{"iss":"DEF123GHIJ","iat":1437179036,}"#,
    ])
    func `Claims without one team and one time are refused`(claims: String) throws {
        #expect(try fixture.reason(fixture.value(claims: claims)) == .invalidProviderToken)
    }

    @Test(
        arguments: [
            ("1437179036", 1_437_179_036, true),
            ("1437179036.25", 1_437_179_036.25, true),
            ("1.437179036e9", 1_437_179_036, true),
            (#""1437179036""#, 1_437_179_036, false),
            (#""1437179036.5""#, 1_437_179_036.5, false),
            ("1437179036250", 1_437_179_036.25, false),
            (#""1437179036250""#, 1_437_179_036.25, false),
        ] as [(String, Double, Bool)])
    func `iat is accepted in every form that clients send`(text: String, seconds: Double, strict: Bool) throws {
        let value = try fixture.value(claims: #"{"iss":"DEF123GHIJ","iat":\#(text)}"#)
        #expect(try fixture.verify(value).issuedAt == seconds)
        #expect(fixture.reason(value, conformance: .strict) == (strict ? nil : .invalidProviderToken))
    }

    @Test(
        arguments: [
            (0, nil), (3600, nil), (3601, .expiredProviderToken), (1e9, .expiredProviderToken),
        ] as [(Double, Rejection.Reason?)])
    func `A token is valid for an hour`(age: Double, reason: Rejection.Reason?) throws {
        #expect(try fixture.reason(fixture.value(), now: TokenFixture.now + age) == reason)
    }

    @Test
    func `A token from before 1970 has expired`() throws {
        #expect(
            try fixture.reason(fixture.value(claims: #"{"iss":"DEF123GHIJ","iat":-5}"#)) == .expiredProviderToken)
    }

    @Test(
        arguments: [
            (300, nil), (301, .invalidProviderToken), (1e9, .invalidProviderToken),
        ] as [(Double, Rejection.Reason?)])
    func `A token may be from a moment in the future`(ahead: Double, reason: Rejection.Reason?) throws {
        #expect(try fixture.reason(fixture.value(), now: TokenFixture.now - ahead) == reason)
    }

    @Test
    func `An unknown key is refused`() throws {
        #expect(try fixture.reason(fixture.value(), keys: []) == .invalidProviderToken)
    }

    @Test
    func `A key of another team is refused`() throws {
        let other = try #require(TeamID(rawValue: "OTHERTEAM1"))
        let key = ProviderKey(id: fixture.keyID, team: other, publicKey: fixture.privateKey.publicKey)
        #expect(try fixture.reason(fixture.value(), keys: [key]) == .invalidProviderToken)
    }

    @Test
    func `A token that another key signed is refused`() throws {
        let key = ProviderKey(
            id: fixture.keyID, team: fixture.team, publicKey: P256.Signing.PrivateKey().publicKey)
        #expect(try fixture.reason(fixture.value(), keys: [key]) == .invalidProviderToken)
    }

    @Test
    func `A key for the other environment has its own reason`() throws {
        let key = ProviderKey(
            id: fixture.keyID, team: fixture.team, publicKey: fixture.privateKey.publicKey, environments: [.production])
        let value = try fixture.value()
        #expect(fixture.reason(value, environment: .development, keys: [key]) == .badEnvironmentKeyIDInToken)
        #expect(fixture.reason(value, environment: .production, keys: [key]) == nil)
    }

    @Test
    func `Only a client that has the key is told what is wrong with the key or the time`() throws {
        let key = ProviderKey(
            id: fixture.keyID, team: fixture.team, publicKey: P256.Signing.PrivateKey().publicKey, environments: [])
        #expect(try fixture.reason(fixture.value(), now: TokenFixture.now + 1e6, keys: [key]) == .invalidProviderToken)
    }

    /// The value of the header, with its signature in DER. A test may change the bytes.
    private func inDER(_ change: ([UInt8]) -> [UInt8] = { $0 }) throws -> String {
        let value = try fixture.value()
        let signed = value.dropFirst(7).prefix(upTo: try #require(value.lastIndex(of: ".")))
        let signature = try fixture.privateKey.signature(for: Data(signed.utf8)).derRepresentation
        return "bearer \(signed).\(TokenFixture.base64URL(change(Array(signature))))"
    }

    @Test
    func `A signature in DER, as Java makes it, is accepted; strict accepts only r and s, and says so`() throws {
        let value = try inDER()
        #expect(fixture.reason(value) == nil)
        let rejection = #expect(throws: Rejection.self) { try fixture.verify(value, conformance: .strict) }
        #expect(rejection?.reason == .invalidProviderToken)
        #expect(rejection?.detail?.contains("DER") == true)
    }

    @Test
    func `Bytes that resemble a signature in DER, but are none, are refused`() throws {
        let changes: [([UInt8]) -> [UInt8]] = [
            { $0 + [0] }, { Array($0.dropLast()) }, { [$0[0], 0x81] + $0.dropFirst() },
            // An integer with three needless zeros in front.
            { bytes in [bytes[0], bytes[1] + 3, bytes[2], bytes[3] + 3, 0, 0, 0] + bytes.dropFirst(4) },
            // The tag of a set instead of a sequence.
            { [0x31] + $0.dropFirst() },
        ]
        for change in changes { #expect(try fixture.reason(inDER(change)) == .invalidProviderToken) }
    }

    @Test
    func `A signature in DER of another key, or over other claims, is refused`() throws {
        let value = try inDER()
        let other = ProviderKey(
            id: fixture.keyID, team: fixture.team, publicKey: P256.Signing.PrivateKey().publicKey)
        #expect(fixture.reason(value, keys: [other]) == .invalidProviderToken)
        let parts = value.split(separator: ".")
        let claims = TokenFixture.base64URL(Data(TokenFixture.claims.utf8 + [UInt8(ascii: " ")]))
        #expect(fixture.reason("\(parts[0]).\(claims).\(parts[2])") == .invalidProviderToken)
    }

    @Test
    func `The token of the Guide's Listing 8-2 is refused`() {
        let value =
            "bearer eyAia2lkIjogIjhZTDNHM1JSWDciIH0.eyAiaXNzIjogIkM4Nk5WOUpYM0QiLCAiaWF0I"
            + "jogIjE0NTkxNDM1ODA2NTAiIH0.MEYCIQDzqyahmH1rz1s-LFNkylXEa2lZ_aOCX4daxxTZkVEGzwIhALvkClnx5m5eAT6"
            + "Lxw7LZtEQcH6JENhJTMArwLf3sXwi"
        #expect(fixture.reason(value, now: 1_459_143_580) == .invalidProviderToken)
    }

    @Test
    func `A token with a changed byte anywhere is refused`() throws {
        let value = Array(try fixture.value().utf8)
        for index in 7..<value.count {
            var changed = value
            changed[index] = changed[index] == UInt8(ascii: "A") ? UInt8(ascii: "B") : UInt8(ascii: "A")
            #expect(fixture.reason(String(decoding: changed, as: UTF8.self)) == .invalidProviderToken, "at \(index)")
        }
    }

    @Test(arguments: [
        "a", ".", "..", "...", "a.b.c", "a.b.c.d", "e30.e30.", "e30.e30.e30.e30", "{}.{}.{}", "é.é.é",
        "e30=.e30.AA", "====.====.====",
    ])
    func `A text that is not a token is refused`(token: String) {
        #expect(fixture.reason("bearer " + token) == .invalidProviderToken)
    }

    @Test
    func `A signature of all zeros is refused`() throws {
        let value = try fixture.value()
        let signed = value.prefix(upTo: try #require(value.lastIndex(of: ".")))
        let zeros = TokenFixture.base64URL([UInt8](repeating: 0, count: 64))
        #expect(fixture.reason("\(signed).\(zeros)") == .invalidProviderToken)
    }

    @Test
    func `A token of up to 4,096 bytes is accepted, and a longer one is not`() throws {
        func value(note: Int) throws -> String {
            let note = String(repeating: "n", count: note)
            return try fixture.value(claims: #"{"iss":"DEF123GHIJ","iat":1437179036,"note":"\#(note)"}"#)
        }
        let long = try value(note: 2900)
        #expect(long.utf8.count - 7 <= 4096)
        #expect(fixture.reason(long) == nil)
        let tooLong = try value(note: 3000)
        #expect(tooLong.utf8.count - 7 > 4096)
        #expect(fixture.reason(tooLong) == .invalidProviderToken)
    }

    @Test(arguments: ["A", ".", "="])
    func `A header of a megabyte is refused without reading it`(filler: String) {
        #expect(fixture.reason("bearer " + String(repeating: filler, count: 1 << 20)) == .invalidProviderToken)
    }

    @Test
    func `The details contain no part of the token except its identifiers`() throws {
        let value = try fixture.value()
        let error = #expect(throws: Rejection.self) { try fixture.verify(value, keys: []) }
        #expect(error?.detail == "There is no key ABC123DEFG, or it is revoked, or its grant is suspended.")
    }
}
