import CommonTesting
import Credentials
import Crypto
import Foundation
import Notifications
import Testing
import X509

@testable import Trust

@Suite("An authority under an operator's root", .startsPrograms)
struct ExternalRootTests {
    /// A root that openssl makes.
    private func root(_ extensions: [String], newKey: String = "ec_paramgen_curve:P-256") async throws -> ExternalRoot {
        let made = try await OpenSSL.run(
            [
                "req", "-x509", "-newkey", "ec", "-pkeyopt", newKey, "-nodes", "-days", "30", "-subj", "/CN=Ours",
                "-keyout", "-", "-out", "-",
            ] + extensions.flatMap { ["-addext", $0] },
            files: [:])
        let parts = try #require(made.output.range(of: "-----BEGIN CERTIFICATE-----"))
        let key = try #require(made.output.range(of: "-----BEGIN PRIVATE KEY-----"))
        let keyEnd = try #require(made.output.range(of: "-----END PRIVATE KEY-----"))
        let end = try #require(made.output.range(of: "-----END CERTIFICATE-----"))
        return ExternalRoot(
            certificatePEM: String(made.output[parts.lowerBound..<end.upperBound]),
            keyPEM: String(made.output[key.lowerBound..<keyEnd.upperBound]))
    }

    /// Read after openssl has made a root, which is not valid before.
    private var now: TimeInterval { Date().timeIntervalSince1970 }

    private func create(_ root: ExternalRoot) throws -> CertificateAuthority {
        var generator = SystemRandomNumberGenerator()
        return try CertificateAuthority.create(under: root, now: now, using: &generator)
    }

    @Test
    func `According to openssl its certificates lead to the root; the root's key is not kept`() async throws {
        let externalRoot = try await root(["keyUsage=critical,keyCertSign"])
        let authority = try create(externalRoot)
        #expect(authority.secrets.root.keyPEM == nil)
        #expect(externalRoot.isRoot(of: authority))
        let loaded = try CertificateAuthority(secrets: authority.secrets)
        let issued = try loaded.providerChain(now: now)
        let result = try await OpenSSL.run(
            [
                "verify", "-x509_strict", "-purpose", "sslclient", "-CAfile", "ca.pem", "-untrusted", "chain.pem",
                "chain.pem",
            ], files: ["ca.pem": loaded.rootPEM, "chain.pem": issued.chainPEM])
        #expect(result.status == 0, "\(result.output)")
    }

    @Test
    func `A root knows that another root's authority is not its own`() async throws {
        #expect(try await !root([]).isRoot(of: Fixture.authority()))
    }

    @Test(arguments: [
        "basicConstraints=critical,CA:TRUE,pathlen:0", "basicConstraints=critical,CA:FALSE",
        "keyUsage=critical,cRLSign",
    ])
    func `A root that must not sign intermediates is refused`(extension: String) async throws {
        let root = try await root([`extension`])
        expect(.wrongUse) { try create(root) }
    }

    @Test
    func `A root that has expired is refused`() async throws {
        let root = try await root([])
        var generator = SystemRandomNumberGenerator()
        let later = now + 31 * Fixture.day
        expect(.expired) { try CertificateAuthority.create(under: root, now: later, using: &generator) }
    }

    /// The key is in SEC 1, after its curve's parameters.
    @Test
    func `A root is read as openssl and key stores write it`() async throws {
        let made = try await root([])
        let parameters = "-----BEGIN EC PARAMETERS-----\nBggqhkjOPQMBBw==\n-----END EC PARAMETERS-----\n"
        let written = ExternalRoot(
            certificatePEM: made.certificatePEM.replacing("\n", with: " \t\n"),
            keyPEM: parameters + made.keyPEM.replacing("\n", with: "\r\n"))
        #expect(written.isRoot(of: try create(written)))
    }

    @Test
    func `A key of another curve is refused`() async throws {
        let root = try await root([], newKey: "ec_paramgen_curve:P-384")
        expect(.unsupportedKey) { try create(root) }
    }

    @Test
    func `A key that is not the certificate's is refused`() throws {
        let authority = try Fixture.authority(now: now)
        let root = ExternalRoot(
            certificatePEM: authority.rootPEM, keyPEM: P256.Signing.PrivateKey().pemRepresentation)
        expect(.untrusted) { try create(root) }
    }
}
