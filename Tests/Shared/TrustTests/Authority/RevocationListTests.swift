import CommonTesting
import Credentials
import Foundation
import Notifications
import Testing
import Trust

@Suite("The certificate revocation list, according to openssl", .startsPrograms)
struct RevocationListTests {
    private let authority: CertificateAuthority

    init() throws { authority = try Fixture.authority() }

    private func text(_ list: RevocationList) async throws -> String {
        try await OpenSSL.run(["crl", "-in", "list.pem", "-noout", "-text"], files: ["list.pem": list.pem]).output
    }

    private func list(
        _ revoked: [(serial: CertificateSerial, moment: Double)],
        now: Double = Fixture.now,
    ) throws -> RevocationList {
        try authority.providerRevocations(revoked, number: 7, now: now)
    }

    @Test
    func `An empty list has its issuer, its number and its dates`() async throws {
        let text = try await text(list([]))
        #expect(text.contains("No Revoked Certificates."))
        #expect(text.contains("Version 2"))
        #expect(text.contains("ecdsa-with-SHA256"))
        #expect(text.contains("CN = Carillon Providers"))
        #expect(text.contains("X509v3 CRL Number: \n                7"))
        #expect(text.contains("Last Update: Jul 18 00:23:56 2015 GMT"))
        #expect(text.contains("Next Update: Jul 25 00:23:56 2015 GMT"))
    }

    @Test
    func `Each revoked certificate is in the list with its serial and time`() async throws {
        let first = try authority.providerChain().serial
        let second = try authority.providerChain().serial
        let text = try await text(list([(first, Fixture.now - 60), (second, Fixture.now - Fixture.day)]))
        #expect(text.contains("Serial Number: \(first.description.uppercased())"))
        #expect(text.contains("Serial Number: \(second.description.uppercased())"))
        #expect(text.contains("Revocation Date: Jul 18 00:22:56 2015 GMT"))
        #expect(text.contains("Revocation Date: Jul 17 00:23:56 2015 GMT"))
    }

    @Test
    func `Dates from 2050 on are written as RFC 5280 requires`() async throws {
        #expect(try await text(list([], now: 2_540_000_000)).contains("Last Update: Jun 28 03:33:20 2050 GMT"))
    }

    @Test(arguments: [Fixture.now, 2_540_000_000])
    func `The time of a list reads back as it was written`(_ now: Double) throws {
        #expect(try RevocationList.made(pem: list([], now: now).pem) == now)
        let other = authority.rootPEM.replacing("CERTIFICATE", with: "X509 CRL")
        expect(.malformed) { try RevocationList.made(pem: other) }
        expect(.malformed) { try RevocationList.made(pem: "-----BEGIN X509 CRL-----\nMAA=\n-----END X509 CRL-----\n") }
    }

    @Test(arguments: [true, false])
    func `openssl verify refuses only the revoked certificates of the list`(isRevoked: Bool) async throws {
        let (good, revoked) = (try authority.providerChain(), try authority.providerChain())
        let list = try list([(revoked.serial, Fixture.now - 60)])
        let result = try await OpenSSL.run(
            [
                "verify", "-x509_strict", "-purpose", "sslclient", "-attime", "\(Int(Fixture.now))", "-crl_check",
                "-CRLfile", "list.pem", "-CAfile", "ca.pem", "-untrusted", "chain.pem", "chain.pem",
            ],
            files: [
                "list.pem": list.pem, "ca.pem": authority.rootPEM,
                "chain.pem": isRevoked ? revoked.chainPEM : good.chainPEM,
            ])
        #expect((result.status == 0) == !isRevoked, "\(result.output)")
        #expect(result.output.contains("certificate revoked") == isRevoked)
    }
}
