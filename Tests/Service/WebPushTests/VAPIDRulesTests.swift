import Crypto
import Foundation
import Testing
import Trust

/// The token of an application server (RFC 8292, 2).
struct VAPIDRulesTests {
    private let server = VAPIDFixture()

    private func fault(
        _ token: String, key: [UInt8]? = nil, origin: String = VAPIDFixture.origin, now: Double = VAPIDFixture.now
    ) -> String? {
        do throws(VAPIDFault) {
            _ = try VAPIDRules(origin: origin).verify(
                token: Array(token.utf8), key: key ?? server.keyBytes, now: now)
            return nil
        } catch {
            return error.detail
        }
    }

    private func fault(_ changes: [String: String?], now: Double = VAPIDFixture.now) throws -> String? {
        try fault(server.token(VAPIDFixture.claims(changes)), now: now)
    }

    @Test func `A token of the origin that expires within a day is valid`() throws {
        #expect(try fault([:]) == nil)
        #expect(try fault(["sub": nil]) == nil)
        #expect(try fault(["sub": #""https://example.com/contact""#]) == nil)
        #expect(try fault(["exp": "\(Int(VAPIDFixture.now) + 86_400)"]) == nil)
        #expect(try fault(["iat": "1", "more": "[{}]", "nbf": "\(Int(VAPIDFixture.now))"]) == nil)
    }

    @Test(arguments: [
        "null", "7", #""""#, #""https://push.example.com/""#, #""https://push.example.com:443""#,
        #""https://push.example.com/wp""#, #""http://push.example.com""#, #""HTTPS://push.example.com""#,
        #""push.example.com""#, #""https://push.example.com.evil.example""#, #"["https://push.example.com"]"#,
    ])
    func `aud has to be the origin itself`(_ audience: String) throws {
        #expect(try fault(["aud": audience])?.contains("aud") == true)
    }

    @Test func `A token without aud or exp is not valid`() throws {
        #expect(try fault(["aud": nil])?.contains("aud") == true)
        #expect(try fault(["exp": nil])?.contains("exp") == true)
    }

    @Test func `exp is in the future, and at most 24 hours ahead`() throws {
        let now = Int(VAPIDFixture.now)
        for text in [
            "\(now)", "\(now - 1)", "0", "-5", "\(now + 86_431)", "\(now)000", "1e300", "\"\(now + 60)\"", "null",
        ] {
            #expect(try fault(["exp": text]) != nil, "\(text)")
        }
    }

    @Test func `The clock of a sender may be ahead by half a minute`() throws {
        let now = Int(VAPIDFixture.now)
        for text in ["\(now + 86_400)", "\(now + 86_430)"] { #expect(try fault(["exp": text]) == nil) }
        #expect(try fault(["nbf": "\(now + 30)"]) == nil)
    }

    @Test func `nbf, crit and sub are respected`() throws {
        #expect(try fault(["nbf": "\(Int(VAPIDFixture.now) + 31)"])?.contains("nbf") == true)
        #expect(try fault(["nbf": #""soon""#])?.contains("nbf") == true)
        for text in [#""admin@example.com""#, "7", "null", #""http://example.com""#] {
            #expect(try fault(["sub": text])?.contains("sub") == true, "\(text)")
        }
        let critical = try server.token(header: #"{"alg":"ES256","crit":["x"],"x":1}"#)
        #expect(fault(critical)?.contains("crit") == true)
    }

    @Test(arguments: ["none", "HS256", "ES384", "RS256", "es256"])
    func `Another algorithm is not valid`(_ name: String) throws {
        #expect(try fault(server.token(header: #"{"alg":"\#(name)"}"#))?.contains("alg") == true)
    }

    @Test func `A provider token is not one`() throws {
        let token = try server.token(
            #"{"iss":"DEF123GHIJ","iat":\#(Int(VAPIDFixture.now))}"#, header: #"{"alg":"ES256","kid":"ABC123DEFG"}"#)
        #expect(fault(token)?.contains("aud") == true)
    }

    @Test func `The signature has to be that of the key`() throws {
        let token = try server.token()
        #expect(fault(token, key: VAPIDFixture().keyBytes)?.contains("signature") == true)
        #expect(fault(String(token.dropLast(2)) + "AA") != nil)
        let signed = String(token.prefix { $0 != "." }) + "." + VAPIDFixture.text(VAPIDFixture.claims().utf8)
        let distinguished = try VAPIDFixture.text(
            server.privateKey.signature(for: Data(signed.utf8)).derRepresentation)
        #expect(fault(signed + "." + distinguished)?.contains("signature") == true)
        #expect(fault(signed + ".") != nil)
    }

    @Test func `The key has to be a point on the curve`() throws {
        let token = try server.token()
        var other = server.keyBytes
        other[64] ^= 1
        for key in [other, [], Array(server.keyBytes.dropLast()), [4] + [UInt8](repeating: 0, count: 64)] {
            #expect(fault(token, key: key)?.contains("key") == true)
        }
        #expect(fault(token, key: Array(server.privateKey.publicKey.compressedRepresentation)) != nil)
    }

    @Test(arguments: ["", ".", "..", "a.b", "a.b.c", "e30.e30.e30.e30"])
    func `What is not a token is refused`(_ text: String) {
        #expect(fault(text) != nil)
    }

    @Test func `The size is limited`() throws {
        let padding = String(repeating: "x", count: VAPIDRules.maximumBytes)
        #expect(try fault(["more": "\"\(padding)\""])?.contains("larger") == true)
    }

    @Test func `The times are checked at each use`() throws {
        let verified = VerifiedVAPID(key: [], expires: 1000)
        #expect(throws: Never.self) { try verified.check(now: 999) }
        #expect(throws: VAPIDFault.self) { try verified.check(now: 1000) }
    }
}
