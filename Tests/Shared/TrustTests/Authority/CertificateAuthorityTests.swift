import Credentials
import Crypto
import Foundation
import Notifications
import SwiftASN1
import Testing
import Trust
import X509

@Suite("The certificate authority")
struct CertificateAuthorityTests {
    private let authority: CertificateAuthority
    private let secrets: AuthoritySecrets

    init() throws {
        authority = try Fixture.authority()
        secrets = authority.secrets
    }

    @Test
    func `Is the same after it was stored and loaded`() throws {
        #expect(try CertificateAuthority(secrets: secrets).secrets == secrets)
    }

    @Test
    func `Accepts certificates that it made after it was loaded`() throws {
        let issued = try CertificateAuthority(secrets: secrets).deviceChain()
        #expect(throws: Never.self) {
            try authority.verifyPeer(chain: Fixture.der(issued.chainPEM), as: .device, now: Fixture.now)
        }
    }

    @Test(arguments: AuthorityPart.allCases)
    func `Does not load with another key`(part: AuthorityPart) throws {
        var changed = secrets
        changed[keyPath: part.path].keyPEM = P256.Signing.PrivateKey().pemRepresentation
        expect(.untrusted) { try CertificateAuthority(secrets: changed) }
    }

    @Test
    func `Does not load with an intermediate of another authority`() throws {
        var changed = secrets
        changed.devices = try Fixture.authority().secrets.devices
        expect(.untrusted) { try CertificateAuthority(secrets: changed) }
    }

    @Test
    func `Does not load with one intermediate in two places`() throws {
        var changed = secrets
        changed.devices = changed.providers
        expect(.untrusted) { try CertificateAuthority(secrets: changed) }
    }

    @Test
    func `Does not load from a text that is not PEM, and does not quote it`() throws {
        var changed = secrets
        changed.root.keyPEM = "-----BEGIN PRIVATE KEY-----\nc2VjcmV0\n-----END PRIVATE KEY-----\n"
        let error = #expect(throws: TrustError.self) { try CertificateAuthority(secrets: changed) }
        #expect(error?.code == .malformed)
        #expect(error?.cause == nil)
    }

    @Test
    func `Describes its secrets without showing them`() {
        #expect("\(secrets) \(secrets.root)" == "AuthoritySecrets AuthoritySecrets.Issuer")
    }

    @Test
    func `Has a root that may sign intermediates and nothing below them`() throws {
        let root = try Certificate(pemEncoded: authority.rootPEM)
        #expect(try root.extensions.basicConstraints == .isCertificateAuthority(maxPathLength: 1))
        #expect(try root.extensions.keyUsage == KeyUsage(keyCertSign: true))
        #expect(root.issuer == root.subject)
        #expect(root.notValidAfter.timeIntervalSince1970 == Fixture.now + CertificateLives.root)
    }

    @Test(arguments: [
        (AuthorityPart.servers, ExtendedKeyUsage.Usage.serverAuth),
        (.providers, .clientAuth),
        (.devices, .clientAuth),
    ])
    func `Has intermediates that sign certificates for one use only`(
        part: AuthorityPart, usage: ExtendedKeyUsage.Usage
    ) throws {
        let root = try Certificate(pemEncoded: authority.rootPEM)
        let certificate = try Certificate(pemEncoded: secrets[keyPath: part.path].certificatePEM)
        #expect(try certificate.extensions.basicConstraints == .isCertificateAuthority(maxPathLength: 0))
        #expect(try certificate.extensions.keyUsage == KeyUsage(keyCertSign: true, cRLSign: true))
        #expect(try certificate.extensions.extendedKeyUsage == ExtendedKeyUsage([usage]))
        #expect(
            try certificate.extensions.authorityKeyIdentifier?.keyIdentifier
                == root.extensions.subjectKeyIdentifier?.keyIdentifier)
        #expect(certificate.notValidAfter.timeIntervalSince1970 == Fixture.now + CertificateLives.intermediate)
        #expect(root.publicKey.isValidSignature(certificate.signature, for: certificate))
    }

    @Test
    func `Has a name that no other authority has`() throws {
        let other = try Certificate(pemEncoded: try Fixture.authority().rootPEM)
        #expect(try Certificate(pemEncoded: authority.rootPEM).subject != other.subject)
    }

    @Test
    func `Makes no certificate that lives longer than its intermediate`() throws {
        let late = Fixture.now + CertificateLives.intermediate - 30 * Fixture.day
        #expect(try authority.deviceChain(now: late).validUntil == Fixture.now + CertificateLives.intermediate)
    }

    @Test
    func `Makes certificates valid from an hour before they were made`() throws {
        let leaf = try Fixture.leaf(authority.deviceChain())
        #expect(leaf.notValidBefore.timeIntervalSince1970 == Fixture.now - 3600)
    }

    @Test
    func `Gives each certificate a serial of 16 bytes, which can be read from its text`() throws {
        let serials = try (0..<20).map { _ in try authority.serverChain().serial }
        #expect(Set(serials).count == serials.count)
        for serial in serials {
            #expect(serial.description.count == 32)
            #expect(CertificateSerial(serial.description.uppercased()) == serial)
        }
    }

    @Test(arguments: ["", "12", String(repeating: "g", count: 32), "é"])
    func `Refuses texts that are not serials`(text: String) {
        #expect(CertificateSerial(text) == nil)
    }

    @Test
    func `Reads a serial with colons`() {
        #expect(CertificateSerial("40:" + String(repeating: "0", count: 30))?.description.hasPrefix("4000") == true)
    }
}

/// The parts of an authority, as arguments of tests.
enum AuthorityPart: CaseIterable {
    case root, servers, providers, devices, administrators

    var path: WritableKeyPath<AuthoritySecrets, AuthoritySecrets.Issuer> {
        switch self {
        case .root: \.root
        case .servers: \.servers
        case .providers: \.providers
        case .devices: \.devices
        case .administrators: \.administrators
        }
    }
}

/// Expects a ``TrustError`` with the given code.
func expect<Value>(
    _ code: TrustError.Code,
    sourceLocation: SourceLocation = #_sourceLocation,
    _ body: () throws -> Value,
) {
    let error = #expect(throws: TrustError.self, sourceLocation: sourceLocation) { _ = try body() }
    #expect(error?.code == code, "\(String(describing: error))", sourceLocation: sourceLocation)
}
