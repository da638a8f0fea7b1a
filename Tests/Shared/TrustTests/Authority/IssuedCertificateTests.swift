import Credentials
import Crypto
import Foundation
import Notifications
import CommonTesting
import SwiftASN1
import Testing
import Trust
import X509

@Suite("Issued certificates, according to openssl", .startsPrograms)
struct IssuedCertificateTests {
    private let authority: CertificateAuthority

    init() throws {
        authority = try Fixture.authority()
    }

    private func text(_ issued: IssuedCertificate) async throws -> String {
        try await OpenSSL.run(["x509", "-in", "leaf.pem", "-noout", "-text"], files: ["leaf.pem": issued.chainPEM])
            .output
    }

    private func verify(
        _ issued: IssuedCertificate,
        purpose: String,
        options: [String] = [],
    ) async throws -> OpenSSL.Result {
        try await OpenSSL.run(
            [
                "verify", "-x509_strict", "-purpose", purpose, "-attime", "\(Int(Fixture.now))", "-ignore_critical",
                "-CAfile", "ca.pem", "-untrusted", "chain.pem",
            ] + options + ["chain.pem"],
            files: ["ca.pem": authority.rootPEM, "chain.pem": issued.chainPEM])
    }

    @Test
    func `Server: the certificate is valid for a server, under each of its names`() async throws {
        let issued = try authority.serverChain(names: ["push.example.com", "10.0.0.7", "fd00::7"])
        #expect(try await verify(issued, purpose: "sslserver").status == 0)
        let text = try await text(issued)
        #expect(
            text.contains(
                "DNS:localhost, IP Address:127.0.0.1, IP Address:0:0:0:0:0:0:0:1, DNS:push.example.com, "
                    + "IP Address:10.0.0.7, IP Address:FD00:0:0:0:0:0:0:7"))
        #expect(text.contains("TLS Web Server Authentication"))
        #expect(!text.contains("TLS Web Client Authentication"))
        #expect(text.contains("CA:FALSE"))
    }

    @Test(arguments: [
        (["-verify_hostname", "push.example.com"], true), (["-verify_hostname", "localhost"], true),
        (["-verify_hostname", "other.example.com"], false), (["-verify_ip", "127.0.0.1"], true),
        (["-verify_ip", "::1"], true), (["-verify_ip", "10.0.0.7"], true), (["-verify_ip", "10.0.0.8"], false),
    ])
    func `Server: valid under its names and under no other`(options: [String], good: Bool) async throws {
        let issued = try authority.serverChain(names: ["push.example.com", "10.0.0.7"])
        #expect(try await (verify(issued, purpose: "sslserver", options: options).status == 0) == good)
    }

    @Test
    func `Server: the certificate is not valid for a client`() async throws {
        #expect(try await verify(authority.serverChain(), purpose: "sslclient").status != 0)
    }

    @Test
    func `Server: the private key belongs to the certificate`() throws {
        let issued = try authority.serverChain()
        let key = try P256.Signing.PrivateKey(pemRepresentation: #require(issued.keyPEM))
        #expect(try Fixture.leaf(issued).publicKey == Certificate.PublicKey(key.publicKey))
    }

    @Test
    func `Server: the certificate is valid for 397 days`() throws {
        #expect(try authority.serverChain().validUntil == Fixture.now + 397 * Fixture.day)
    }

    @Test(arguments: [
        "", "a b", "-a.example", "a..b", "1.2.3", "256.1.1.1", "*", "*.com", "ä.example", "a.example:443", "[::1]",
        String(repeating: "a", count: 64) + ".example",
    ])
    func `Server: refuses invalid names`(name: String) {
        expect(.badName) { try authority.serverChain(names: [name]) }
    }

    @Test
    func `Server: accepts a wildcard and an underscore`() async throws {
        #expect(
            try await text(authority.serverChain(names: ["*.example.com", "my_host"])).contains("DNS:*.example.com"))
    }

    @Test
    func `Server: refuses more names than fit into a certificate`() {
        expect(.tooLarge) { try authority.serverChain(names: (0...100).map { "host\($0)" }) }
    }

    @Test
    func `Server: a name that is given twice occurs once`() async throws {
        let text = try await text(authority.serverChain(names: ["LOCALHOST", "127.0.0.1"]))
        #expect(text.components(separatedBy: "localhost").count == 2)
        #expect(text.components(separatedBy: "127.0.0.1").count == 2)
    }

    @Test
    func `Device: the certificate is valid for a client, with the role as the only other critical extension`()
        async throws
    {
        let issued = try authority.deviceChain()
        #expect(try await verify(issued, purpose: "sslclient").status == 0)
        let text = try await text(issued)
        #expect(text.contains("1.3.6.1.4.1.32473.1.1: critical"))
        #expect(text.contains("TLS Web Client Authentication"))
        #expect(!text.contains("TLS Web Server Authentication"))
        #expect(!text.contains("Alternative Name"))
        #expect(issued.keyPEM == nil)
        #expect(issued.validUntil == Fixture.now + 365 * Fixture.day)
    }

    @Test
    func `Device: the certificate is not valid for a server`() async throws {
        #expect(try await verify(authority.deviceChain(), purpose: "sslserver").status != 0)
    }

    @Test
    func `Device: software that does not know the role's extension refuses it`() async throws {
        let result = try await OpenSSL.run(
            [
                "verify", "-attime", "\(Int(Fixture.now))", "-CAfile", "ca.pem", "-untrusted", "chain.pem", "chain.pem",
            ],
            files: ["ca.pem": authority.rootPEM, "chain.pem": try authority.deviceChain().chainPEM])
        #expect(result.output.contains("unhandled critical extension"))
    }

    @Test
    func `Provider: the certificate is valid for a client; its UID is the bundle ID`() async throws {
        let issued = try authority.providerChain()
        #expect(try await verify(issued, purpose: "sslclient").status == 0)
        #expect(try await text(issued).contains("Subject: UID = com.yourcompany.yourexampleapp, CN = "))
        #expect(issued.validUntil == Fixture.now + 396 * Fixture.day)
    }

    @Test(
        arguments: [
            ([.development], "Apple Development IOS Push Services"), ([.production], "Apple Push Services"),
            ([.development, .production], "Apple Push Services"),
        ] as [(Set<Environment>, String)])
    func `Provider: the common name is written as Apple writes it`(
        environments: Set<Environment>, services: String
    ) async throws {
        let text = try await text(authority.providerChain(environments: environments))
        #expect(text.contains("CN = \(services): com.yourcompany.yourexampleapp"))
    }

    @Test(
        arguments: [
            ([.development], true, false), ([.production], false, true), ([.development, .production], true, true),
        ] as [(Set<Environment>, Bool, Bool)])
    func `Provider: has markers for its environments`(
        environments: Set<Environment>, development: Bool, production: Bool
    ) async throws {
        let text = try await text(authority.providerChain(environments: environments))
        #expect(text.contains("1.2.840.113635.100.6.3.1: \n") == development)
        #expect(text.contains("1.2.840.113635.100.6.3.2: \n") == production)
    }

    @Test
    func `Provider: topics and kinds are in the Guide's order, and not critical`() async throws {
        let issued = try authority.providerChain()
        let leaf = try Fixture.leaf(issued)
        let value = try #require(leaf.extensions[oid: [1, 2, 840, 113_635, 100, 6, 3, 6]])
        #expect(!value.critical)
        let parsed = try await OpenSSL.run(
            ["asn1parse", "-inform", "PEM", "-in", "value.pem"],
            files: ["value.pem": PEMDocument(type: "X", derBytes: Array(value.value)).pemString + "\n"])
        let strings = parsed.output.split(separator: "\n").compactMap { line in
            line.contains("UTF8STRING") ? line.split(separator: ":").last.map(String.init) : nil
        }
        #expect(
            strings == [
                "com.yourcompany.yourexampleapp", "app",
                "com.yourcompany.yourexampleapp.voip", "voip",
                "com.yourcompany.yourexampleapp.complication", "complication",
            ])
    }

    @Test
    func `Provider: openssl verifies the certificate without ignoring any extension`() async throws {
        let result = try await OpenSSL.run(
            [
                "verify", "-x509_strict", "-purpose", "sslclient", "-attime", "\(Int(Fixture.now))", "-CAfile",
                "ca.pem",
                "-untrusted", "chain.pem", "chain.pem",
            ],
            files: ["ca.pem": authority.rootPEM, "chain.pem": try authority.providerChain().chainPEM])
        #expect(result.status == 0, "\(result.output)")
    }

    @Test
    func `Provider: for device management, the only topic is the UID`() throws {
        var generator = SystemRandomNumberGenerator()
        let issued = try authority.issueProviderCertificate(
            request: Fixture.request(), bundleID: Fixture.bundleID, environments: [.production], topics: .none,
            now: Fixture.now, using: &generator)
        #expect(try Fixture.leaf(issued).extensions[oid: [1, 2, 840, 113_635, 100, 6, 3, 6]] == nil)
        let identity = try authority.verifyPeer(
            chain: Fixture.der(issued.chainPEM), as: .provider, now: Fixture.now)
        guard case .provider(let provider) = identity else {
            Issue.record("It is no provider's.")
            return
        }
        #expect(provider.uid == Fixture.bundleID.rawValue && provider.topics.isEmpty)
    }

    @Test
    func `Provider: with a certificate request, the requester keeps the key`() throws {
        let key = P256.Signing.PrivateKey()
        var generator = SeededGenerator()
        let issued = try authority.issueProviderCertificate(
            request: Fixture.request(key), bundleID: Fixture.bundleID, environments: [.production], now: Fixture.now,
            using: &generator)
        #expect(issued.keyPEM == nil)
        #expect(try Fixture.leaf(issued).publicKey == Certificate.PublicKey(key.publicKey))
    }
}
