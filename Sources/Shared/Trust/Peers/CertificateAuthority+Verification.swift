package import Credentials
import Foundation
import Notifications
import SwiftASN1
import X509

extension CertificateAuthority {
    /// The largest number of certificates in a peer's chain. Ours have two, or three with the root.
    package static let maximumChainLength = 4
    /// The largest size of each certificate, in bytes. Ours have some 700, and a provider's with an RSA key of 4096
    /// bits some 1,400.
    package static let maximumCertificateBytes = 16 * 1024

    /// Returns the identity of a peer, or throws why it is not trusted.
    ///
    /// This does not build paths as RFC 5280, 6, describes and swift-certificates' `Verifier` does. Our chains have a
    /// single shape: a leaf signed by the intermediate for its role, whose public key we have. So only the leaf is read
    /// and checked with that key. Other certificates of the peer make no difference. The work is limited to one
    /// signature check and one pass over at most 16 KiB, and nothing waits.
    ///
    /// - Parameters:
    ///   - chain: in DER, the leaf first, as the TLS library returns it.
    ///   - role: the role that the listener requires.
    ///   - now: seconds since 1970.
    ///   - mayHaveExpired: whether the leaf may have expired. The caller then looks at the identity's `validUntil`.
    package func verifyPeer(
        chain: [[UInt8]],
        as role: PeerRole,
        now: Double,
        mayHaveExpired: Bool = false,
    ) throws(TrustError) -> PeerIdentity {
        guard chain.count <= Self.maximumChainLength, chain.allSatisfy({ $0.count <= Self.maximumCertificateBytes })
        else { throw TrustError(.tooLarge, "The certificate chain is too long or one of its certificates too large.") }
        guard let bytes = chain.first else { throw TrustError(.untrusted, "There is no certificate.") }
        let leaf = try PeerCertificate.read(bytes)

        // Check the signature before anything in the certificate is used.
        let issuer = issuer(of: role)
        guard leaf.version == .v3, issuer.signed(leaf), let serial = CertificateSerial(leaf.serialNumber) else {
            throw TrustError(.untrusted, "The certificate was not issued here for \(role.withArticle).")
        }
        try AcceptedPublicKey.check(leaf.publicKey)
        try Self.checkDates(of: leaf, now: mayHaveExpired ? min(now, leaf.notValidAfter.timeIntervalSince1970) : now)
        for certificate in [issuer.certificate, root.certificate] {
            try Self.checkDates(of: certificate, now: now)
        }
        try Self.checkUsage(of: leaf)

        let identity = try TrustError.wrapping(.malformed, "The certificate's extensions cannot be read.") {
            try Self.identity(of: leaf, serial: serial)
        }
        guard identity.role == role else {
            throw TrustError(.wrongUse, "The certificate is not \(role.withArticle)'s.")
        }
        return identity
    }

    /// Does the same as ``verifyPeer(chain:as:now:)`` for the certificate of a provider.
    package func verifyProvider(chain: [[UInt8]], now: Double) throws(TrustError) -> ProviderIdentity {
        guard case .provider(let identity) = try verifyPeer(chain: chain, as: .provider, now: now) else {
            throw TrustError(.wrongUse, "The certificate is not a provider's.")
        }
        return identity
    }

    private func issuer(of role: PeerRole) -> CertificateIssuer {
        switch role {
        case .device: devices
        case .provider: providers
        // The certificates of administrators and nodes differ by their role, which is in a critical extension. An
        // authority whose root is kept elsewhere cannot make another intermediate.
        case .administrator, .node: administrators
        }
    }

    private static func checkDates(of certificate: Certificate, now: Double) throws(TrustError) {
        guard now >= certificate.notValidBefore.timeIntervalSince1970 else {
            throw TrustError(.notYetValid, "The certificate is not valid yet.")
        }
        guard now <= certificate.notValidAfter.timeIntervalSince1970 else {
            throw TrustError(.expired, "The certificate has expired.")
        }
    }

    /// The extensions that are processed below. Any other critical extension makes the certificate unusable (RFC 5280,
    /// 4.2).
    private static let known: Set<ASN1ObjectIdentifier> = [
        .X509ExtensionID.basicConstraints, .X509ExtensionID.keyUsage, .X509ExtensionID.extendedKeyUsage,
        CertificateIdentifiers.role,
    ]

    private static func checkUsage(of leaf: Certificate) throws(TrustError) {
        guard leaf.extensions.allSatisfy({ !$0.critical || known.contains($0.oid) }) else {
            throw TrustError(
                .unknownCriticalExtension, "The certificate has a critical extension that is unknown here.")
        }
        let fits = try TrustError.wrapping(.malformed, "The certificate's usages cannot be read.") {
            try leaf.extensions.basicConstraints == .notCertificateAuthority
                && leaf.extensions.keyUsage == KeyUsage(digitalSignature: true)
                && leaf.extensions.extendedKeyUsage == ExtendedKeyUsage([.clientAuth])
        }
        guard fits else { throw TrustError(.wrongUse, "The certificate is not for TLS clients only.") }
    }

    private static func identity(of leaf: Certificate, serial: CertificateSerial) throws -> PeerIdentity {
        guard let entry = leaf.extensions[oid: CertificateIdentifiers.role] else {
            throw TrustError(.wrongUse, "The certificate names no role.")
        }
        let certified = try CertificateRole(derEncoded: entry.value)
        guard entry.critical == certified.isCritical else {
            throw TrustError(.wrongUse, "The certificate's role does not have the form of those issued here.")
        }
        let validUntil = leaf.notValidAfter.timeIntervalSince1970
        switch certified {
        case .device(let device, let environment):
            return .device(
                DeviceIdentity(
                    device: device,
                    environment: environment,
                    serial: serial,
                    publicKeyFingerprint: try AcceptedPublicKey.fingerprint(of: leaf.publicKey),
                    validUntil: validUntil,
                ))
        case .administrator:
            return .administrator(AdministratorIdentity(serial: serial, validUntil: validUntil))
        case .node:
            return .node(NodeIdentity(serial: serial, validUntil: validUntil))
        case .provider:
            guard let uid = userID(of: leaf.subject) else {
                throw TrustError(.wrongUse, "The certificate's subject has no UID.")
            }
            let topics = try leaf.extensions[oid: CertificateIdentifiers.topics].map {
                try CertificateTopics(derEncoded: $0.value).list
            }
            return .provider(
                ProviderIdentity(
                    uid: uid,
                    topics: topics ?? [],
                    environments: Set(
                        Environment.allCases.filter { leaf.extensions[oid: $0.certificateMarker] != nil }),
                    serial: serial,
                    validUntil: validUntil,
                ))
        }
    }

    private static func userID(of subject: DistinguishedName) -> String? {
        let attribute = subject.lazy.flatMap { $0 }.first { $0.type == CertificateIdentifiers.userID }
        return attribute.flatMap { String($0.value) }
    }
}

extension PeerRole {
    /// The role in a sentence: `an administrator`.
    fileprivate var withArticle: String { (self == .administrator ? "an " : "a ") + rawValue }
}
