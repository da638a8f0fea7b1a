import CommonTesting
import Credentials
import Crypto
import Foundation
import Notifications
import SwiftASN1
import Testing
import Trust
import X509

@Suite("Certificate requests", .startsPrograms)
struct SigningRequestTests {
    private let authority: CertificateAuthority

    init() throws {
        authority = try Fixture.authority()
    }

    /// A request that openssl makes.
    private func request(_ arguments: String, key: String) async throws -> [UInt8] {
        let command = "req -new -nodes -subj /CN=admin/O=Other -keyout key.pem -newkey \(key) \(arguments)"
        let made = try await OpenSSL.run(command.split(separator: " ").map(String.init), files: [:])
        let start = try #require(made.output.range(of: "-----BEGIN"))
        return Array(made.output[start.lowerBound...].utf8)
    }

    @Test(arguments: [
        "ec -pkeyopt ec_paramgen_curve:P-256", "ec -pkeyopt ec_paramgen_curve:P-384", "rsa:2048",
    ])
    func `A usual key is accepted`(key: String) async throws {
        let issued = try await authority.deviceChain(request: request("-sha256", key: key))
        #expect(throws: Never.self) {
            try authority.verifyPeer(chain: Fixture.der(issued.chainPEM), as: .device, now: Fixture.now)
        }
    }

    @Test(arguments: [
        "rsa:1024", "rsa:4104", "ec -pkeyopt ec_paramgen_curve:P-521", "ed25519",
        "ec -pkeyopt ec_paramgen_curve:secp256k1", "ed448",
    ])
    func `Any other key is refused`(key: String) async throws {
        let request = try await request("", key: key)
        expect(.unsupportedKey) { try authority.deviceChain(request: request) }
    }

    @Test(arguments: ["rsa:2048", "ec -pkeyopt ec_paramgen_curve:P-256"])
    func `A signature with SHA-1 is refused`(key: String) async throws {
        let request = try await request("-sha1", key: key)
        expect(.unsupportedAlgorithm) { try authority.deviceChain(request: request) }
    }

    @Test
    func `The certificate takes only the key from the request`() async throws {
        let request = try await request(
            "-addext subjectAltName=DNS:api.push.apple.com -addext basicConstraints=critical,CA:TRUE",
            key: "ec -pkeyopt ec_paramgen_curve:P-256")
        let issued = try authority.deviceChain(request: request)
        let text = try await OpenSSL.run(
            ["x509", "-in", "c.pem", "-noout", "-text"], files: ["c.pem": issued.chainPEM]
        )
        .output
        #expect(!text.contains("admin"))
        #expect(!text.contains("api.push.apple.com"))
        #expect(!text.contains("CA:TRUE"))
    }

    @Test
    func `A request that is not signed with its own key is refused`() throws {
        let victim = try CertificateSigningRequest(pemEncoded: String(decoding: Fixture.request(), as: UTF8.self))
        let attacker = try CertificateSigningRequest(pemEncoded: String(decoding: Fixture.request(), as: UTF8.self))
        let forged = try CertificateSigningRequest(
            version: .v1,
            subject: victim.subject,
            publicKey: victim.publicKey,
            attributes: victim.attributes,
            signatureAlgorithm: attacker.signatureAlgorithm,
            signature: attacker.signature,
        )
        let pem = try forged.serializeAsPEM().pemString
        expect(.badSignature) { try authority.deviceChain(request: Array(pem.utf8)) }
    }

    @Test
    func `A request larger than the limit is refused without reading it`() {
        expect(.tooLarge) { try authority.deviceChain(request: [UInt8](repeating: 0x41, count: 8193)) }
    }

    @Test(arguments: [
        "", "hello", "-----BEGIN CERTIFICATE REQUEST-----\n", "-----BEGIN CERTIFICATE REQUEST-----\nAAAA\n",
        "-----BEGIN CERTIFICATE REQUEST-----\nMAAwAA==\n-----END CERTIFICATE REQUEST-----\n",
        "-----BEGIN CERTIFICATE REQUEST-----\n!!!!\n-----END CERTIFICATE REQUEST-----\n",
    ])
    func `A text that is not a request is refused`(text: String) {
        expect(.malformed) { try authority.deviceChain(request: Array(text.utf8)) }
    }

    @Test
    func `A certificate in place of a request is refused`() {
        expect(.malformed) { try authority.deviceChain(request: Array(authority.rootPEM.utf8)) }
    }

    @Test
    func `Bytes that are not UTF-8 are refused`() {
        expect(.malformed) { try authority.deviceChain(request: [0xff, 0xfe, 0x00, 0xc0]) }
    }

    @Test
    func `Changing any byte makes a request refused, or changes nothing that matters`() throws {
        let key = P256.Signing.PrivateKey()
        let original = try Fixture.request(key)
        for index in original.indices {
            var changed = original
            changed[index] ^= 1
            guard let issued = try? authority.deviceChain(request: changed) else { continue }
            #expect(try Fixture.leaf(issued).publicKey == Certificate.PublicKey(key.publicKey))
        }
    }

    @Test
    func `The older header line, and lines that end in CR LF, are accepted`() throws {
        let text = String(decoding: try Fixture.request(), as: UTF8.self)
            .replacingOccurrences(of: "CERTIFICATE REQUEST", with: "NEW CERTIFICATE REQUEST")
            .replacingOccurrences(of: "\n", with: "\r\n")
        #expect(throws: Never.self) { try authority.deviceChain(request: Array(text.utf8)) }
    }
}
