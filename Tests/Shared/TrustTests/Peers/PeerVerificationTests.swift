import Credentials
import Crypto
import Foundation
import Notifications
import SwiftASN1
import Testing
import Trust
import X509

@Suite("Verifying peers")
struct PeerVerificationTests {
    private let authority: CertificateAuthority

    init() throws {
        authority = try Fixture.authority()
    }

    private func verify(
        _ chain: [[UInt8]],
        as role: PeerRole = .device,
        now: Double = Fixture.now,
    ) throws -> PeerIdentity {
        try authority.verifyPeer(chain: chain, as: role, now: now)
    }

    private func forgery() throws -> Forgery {
        try Forgery(authority, copying: authority.deviceChain())
    }

    @Test(arguments: Environment.allCases)
    func `A device's certificate has device, environment, serial and key`(environment: Environment) throws {
        let key = P256.Signing.PrivateKey()
        let issued = try authority.deviceChain(request: Fixture.request(key), environment: environment)
        guard case .device(let identity) = try verify(Fixture.der(issued.chainPEM)) else {
            Issue.record("not a device")
            return
        }
        #expect(identity.device == Fixture.device)
        #expect(identity.environment == environment)
        #expect(identity.serial == issued.serial)
        #expect(identity.publicKeyFingerprint == Array(SHA256.hash(data: key.publicKey.derRepresentation)))
        #expect(identity.validUntil == issued.validUntil)
    }

    @Test(
        arguments: [
            [.development], [.production], [.development, .production],
        ] as [Set<Environment>])
    func `A provider's certificate has UID, topics, environments and serial`(environments: Set<Environment>) throws {
        let issued = try authority.providerChain(environments: environments)
        guard case .provider(let identity) = try verify(Fixture.der(issued.chainPEM), as: .provider) else {
            Issue.record("not a provider")
            return
        }
        #expect(identity.uid == "com.yourcompany.yourexampleapp")
        #expect(identity.topics.map(\.topic) == Fixture.bundleID.certificateTopics)
        #expect(identity.topics.map(\.kind) == ["app", "voip", "complication"])
        #expect(identity.environments == environments)
        #expect(identity.serial == issued.serial)
    }

    @Test
    func `Only the leaf matters, and further certificates are ignored`() throws {
        let leaf = try Fixture.der(authority.deviceChain().chainPEM)[0]
        #expect(throws: Never.self) { try verify([leaf]) }
        #expect(throws: Never.self) { try verify([leaf, [1, 2, 3]]) }
    }

    @Test
    func `This suite's forged certificates are accepted if they have no fault`() throws {
        #expect(throws: Never.self) { try verify(forgery().chain()) }
    }

    @Test
    func `A certificate that says in two ways how it was signed is refused`() throws {
        let forgery = try forgery()
        let whole = try DER.parse(forgery.chain()[0])
        guard case .constructed(let nodes) = whole.content, let signed = Array(nodes).first else {
            Issue.record("not a certificate")
            return
        }
        var fields = Array(signed.encodedBytes)
        // ecdsa-with-SHA256 becomes ecdsa-with-SHA384 in the signed part, and a valid signature with SHA-256 is made.
        let name: [UInt8] = [6, 8, 0x2a, 0x86, 0x48, 0xce, 0x3d, 4, 3, 2]
        let place = try #require(fields.firstRange(of: name))
        fields[place.upperBound - 1] = 3
        let signature = try forgery.signer.signature(for: Data(fields)).derRepresentation
        var serializer = DER.Serializer()
        try serializer.appendConstructedNode(identifier: .sequence) { serializer in
            serializer.serializeRawBytes(fields)
            serializer.serializeRawBytes([0x30, UInt8(name.count)] + name)
            try serializer.serialize(ASN1BitString(bytes: ArraySlice(signature)))
        }
        expect(.malformed) { try verify([serializer.serializedBytes]) }
        // Without the change it is a certificate of this authority.
        fields[place.upperBound - 1] = 2
        #expect(fields == Array(signed.encodedBytes))
    }

    @Test
    func `A chain without a certificate is refused`() {
        expect(.untrusted) { try verify([]) }
    }

    @Test
    func `A chain of five certificates is refused`() throws {
        let leaf = try Fixture.der(authority.deviceChain().chainPEM)[0]
        expect(.tooLarge) { try verify([[UInt8]](repeating: leaf, count: 5)) }
    }

    @Test(arguments: [0, 1])
    func `A certificate of more than 16 KiB is refused, wherever it is in the chain`(position: Int) throws {
        var chain = try Fixture.der(authority.deviceChain().chainPEM)
        chain[position] += [UInt8](repeating: 0, count: CertificateAuthority.maximumCertificateBytes)
        expect(.tooLarge) { try verify(chain) }
    }

    @Test(arguments: [
        [], [0x30], [0x30, 0x80, 0, 0], [0x30, 0x84, 0xff, 0xff, 0xff, 0xff],
        [UInt8](repeating: 0x30, count: 10_000), [UInt8](repeating: 0xff, count: 16_384),
    ])
    func `Bytes that are not a certificate are refused`(bytes: [UInt8]) {
        expect(.malformed) { try verify([bytes]) }
    }

    @Test
    func `A certificate of another authority is refused`() throws {
        let chain = try Fixture.der(Fixture.authority().deviceChain().chainPEM)
        expect(.untrusted) { try verify(chain) }
    }

    @Test(arguments: [
        (PeerRole.device, PeerRole.provider), (.provider, .device),
    ])
    func `A certificate of another role is refused`(issued: PeerRole, expected: PeerRole) throws {
        let chain = try issued == .device ? authority.deviceChain() : authority.providerChain()
        expect(.untrusted) { try verify(Fixture.der(chain.chainPEM), as: expected) }
    }

    @Test
    func `A node is no administrator, and an administrator is no node, although one intermediate signs for both`()
        throws
    {
        var random = SystemRandomNumberGenerator()
        let node = try authority.issueNodeCertificate(now: Fixture.now, using: &random)
        let administrator = try authority.issueAdministratorCertificate(now: Fixture.now, using: &random)
        let chains = try [node, administrator].map { try Fixture.der($0.chainPEM) }
        #expect(
            try verify(chains[0], as: .node) == .node(NodeIdentity(serial: node.serial, validUntil: node.validUntil)))
        expect(.wrongUse) { try verify(chains[0], as: .administrator) }
        expect(.wrongUse) { try verify(chains[1], as: .node) }
        for role in [PeerRole.device, .provider] { expect(.untrusted) { try verify(chains[0], as: role) } }
    }

    @Test(arguments: PeerRole.allCases)
    func `A server's certificate is refused`(role: PeerRole) throws {
        let chain = try Fixture.der(authority.serverChain().chainPEM)
        expect(.untrusted) { try verify(chain, as: role) }
    }

    @Test
    func `The intermediate itself is refused`() throws {
        let chain = try Fixture.der(authority.secrets.devices.certificatePEM)
        expect(.untrusted) { try verify(chain) }
    }

    @Test
    func `A certificate signed with another key is refused`() throws {
        var forgery = try forgery()
        forgery.signer = P256.Signing.PrivateKey()
        expect(.untrusted) { try verify(forgery.chain()) }
    }

    @Test
    func `A certificate that names another issuer is refused`() throws {
        var forgery = try forgery()
        forgery.issuer = try Certificate(pemEncoded: authority.rootPEM).subject
        expect(.untrusted) { try verify(forgery.chain()) }
    }

    @Test
    func `A certificate without its issuer's key identifier is refused`() throws {
        var forgery = try forgery()
        forgery.extensions.remove(.X509ExtensionID.authorityKeyIdentifier)
        expect(.untrusted) { try verify(forgery.chain()) }
    }

    @Test
    func `A signature algorithm that our authority does not use is refused`() throws {
        var forgery = try forgery()
        forgery.algorithm = .ecdsaWithSHA512
        expect(.untrusted) { try verify(forgery.chain()) }
    }

    @Test
    func `A certificate of version 1 is refused`() throws {
        var forgery = try forgery()
        forgery.version = .v1
        expect(.untrusted) { try verify(forgery.chain()) }
    }

    @Test(arguments: [1, 15, 17, 20])
    func `A serial that our authority would not make is refused`(length: Int) throws {
        var forgery = try forgery()
        forgery.serial = Certificate.SerialNumber(bytes: [UInt8](repeating: 0x41, count: length))
        expect(.untrusted) { try verify(forgery.chain()) }
    }

    @Test
    func `Changing any bit of a certificate makes it refused, or changes nothing that matters`() throws {
        let leaf = try Fixture.der(authority.deviceChain().chainPEM)[0]
        let identity = try verify([leaf])
        for index in leaf.indices {
            var changed = leaf
            changed[index] ^= 1
            guard let other = try? verify([changed]) else { continue }
            #expect(other == identity)
        }
    }

    @Test
    func `A certificate that is cut off anywhere is refused`() throws {
        let leaf = try Fixture.der(authority.deviceChain().chainPEM)[0]
        for length in leaf.indices {
            #expect(throws: TrustError.self) { try verify([Array(leaf[..<length])]) }
        }
    }

    @Test
    func `An expired certificate is refused from its last second on`() throws {
        let issued = try authority.deviceChain()
        let chain = try Fixture.der(issued.chainPEM)
        #expect(throws: Never.self) { try verify(chain, now: issued.validUntil) }
        expect(.expired) { try verify(chain, now: issued.validUntil + 1) }
    }

    @Test
    func `A certificate is refused before its first second, which is some time before it was made`() throws {
        let later = Fixture.now + 30 * Fixture.day
        let chain = try Fixture.der(authority.deviceChain(now: later).chainPEM)
        #expect(throws: Never.self) { try verify(chain, now: later - CertificateLives.clockTolerance) }
        expect(.notYetValid) { try verify(chain, now: later - CertificateLives.clockTolerance - 1) }
    }

    @Test
    func `A certificate that outlives its intermediate is refused when that expires`() throws {
        var forgery = try forgery()
        forgery.notAfter = Date(timeIntervalSince1970: Fixture.now + CertificateLives.root)
        let chain = try forgery.chain()
        expect(.expired) { try verify(chain, now: Fixture.now + CertificateLives.intermediate + 1) }
    }

    @Test
    func `A key of a kind that the authority does not accept is refused`() throws {
        var forgery = try forgery()
        forgery.publicKey = Certificate.PublicKey(P521.Signing.PrivateKey().publicKey)
        expect(.unsupportedKey) { try verify(forgery.chain()) }
    }

    @Test(
        arguments: [
            [], [.serverAuth], [.clientAuth, .serverAuth], [.any],
        ] as [[ExtendedKeyUsage.Usage]])
    func `Key usages other than a client's are refused`(usages: [ExtendedKeyUsage.Usage]) throws {
        var forgery = try forgery()
        forgery.extensions.remove(.X509ExtensionID.extendedKeyUsage)
        if !usages.isEmpty {
            try forgery.extensions.append(.init(ExtendedKeyUsage(usages), critical: false))
        }
        expect(.wrongUse) { try verify(forgery.chain()) }
    }

    @Test
    func `A certificate that may sign others is refused`() throws {
        var forgery = try forgery()
        forgery.extensions.update(
            try .init(BasicConstraints.isCertificateAuthority(maxPathLength: nil), critical: true))
        expect(.wrongUse) { try verify(forgery.chain()) }
    }

    @Test
    func `A key that must not sign a handshake is refused`() throws {
        var forgery = try forgery()
        forgery.extensions.update(try .init(KeyUsage(keyCertSign: true), critical: true))
        expect(.wrongUse) { try verify(forgery.chain()) }
    }

    @Test(arguments: [true, false])
    func `An unknown critical extension is refused, and one that is not critical is ignored`(critical: Bool) throws {
        var forgery = try forgery()
        try forgery.extensions.append(.init(oid: [1, 3, 6, 1, 4, 1, 32473, 9], critical: critical, value: [5, 0]))
        guard critical else {
            #expect(throws: Never.self) { try verify(forgery.chain()) }
            return
        }
        expect(.unknownCriticalExtension) { try verify(forgery.chain()) }
    }

    @Test
    func `A certificate without a role is refused`() throws {
        var forgery = try forgery()
        forgery.extensions.remove([1, 3, 6, 1, 4, 1, 32473, 1, 1])
        expect(.wrongUse) { try verify(forgery.chain()) }
    }

    @Test
    func `A role that is not critical is refused`() throws {
        var forgery = try forgery()
        let role = try #require(forgery.extensions[oid: [1, 3, 6, 1, 4, 1, 32473, 1, 1]])
        forgery.extensions.update(.init(oid: role.oid, critical: false, value: role.value))
        expect(.wrongUse) { try verify(forgery.chain()) }
    }

    @Test(arguments: [
        [], [0x30, 0], [0x30, 3, 0x0c, 1, 0x78], [0x30, 8, 0x0c, 6] + Array("device".utf8),
    ])
    func `A role that cannot be read is refused`(value: [UInt8]) throws {
        var forgery = try forgery()
        forgery.extensions.update(.init(oid: [1, 3, 6, 1, 4, 1, 32473, 1, 1], critical: true, value: value[...]))
        expect(.malformed) { try verify(forgery.chain()) }
    }

    @Test
    func `A provider's role under the devices' intermediate is refused`() throws {
        var forgery = try forgery()
        let provider = try Fixture.leaf(authority.providerChain())
        forgery.subject = provider.subject
        forgery.extensions.update(try #require(provider.extensions[oid: [1, 3, 6, 1, 4, 1, 32473, 1, 1]]))
        expect(.wrongUse) { try verify(forgery.chain()) }
    }

    @Test
    func `A provider without a UID is refused`() throws {
        var forgery = try Forgery(authority, copying: authority.providerChain(), issuer: \.providers)
        forgery.subject = try DistinguishedName { CommonName("com.example.app") }
        expect(.wrongUse) { try verify(forgery.chain(), as: .provider) }
    }

    @Test
    func `Too many topics are refused`() throws {
        var forgery = try Forgery(authority, copying: authority.providerChain(), issuer: \.providers)
        var coder = DER.Serializer()
        try coder.appendConstructedNode(identifier: .sequence) { coder in
            for _ in 0..<33 {
                try coder.serialize(ASN1UTF8String("a"))
                try coder.appendConstructedNode(identifier: .sequence) { try $0.serialize(ASN1UTF8String("app")) }
            }
        }
        forgery.extensions.update(
            .init(oid: [1, 2, 840, 113_635, 100, 6, 3, 6], critical: false, value: coder.serializedBytes[...]))
        expect(.tooLarge) { try verify(forgery.chain(), as: .provider) }
    }

    @Test
    func `A provider's certificate without topics has only its UID as topic`() throws {
        var forgery = try Forgery(authority, copying: authority.providerChain(), issuer: \.providers)
        forgery.extensions.remove([1, 2, 840, 113_635, 100, 6, 3, 6])
        guard case .provider(let identity) = try verify(forgery.chain(), as: .provider) else {
            return #expect(Bool(false), "It is not a provider's certificate.")
        }
        #expect(identity.topics.isEmpty)
    }
}
