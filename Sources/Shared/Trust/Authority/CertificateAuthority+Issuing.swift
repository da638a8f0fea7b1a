package import Credentials
package import Crypto
import Foundation
package import Notifications
import SwiftASN1
import X509

extension CertificateAuthority {
    /// Issues a certificate for the service's own listeners.
    ///
    /// - Parameters:
    ///   - names: host names and IP addresses beside `localhost`, `127.0.0.1` and `::1`, which are always there.
    ///   - key: the listener's key; a fresh one by default.
    ///   - isLocal: whether the certificate has the names that are always there. Only a rehearsal leaves them out.
    ///   - life: in seconds.
    ///   - now: seconds since 1970.
    package func issueServerCertificate(
        names: [String],
        key: P256.Signing.PrivateKey = P256.Signing.PrivateKey(),
        isLocal: Bool = true,
        life: Double = CertificateLives.server,
        now: Double,
        using generator: inout some RandomNumberGenerator,
    ) throws(TrustError) -> IssuedCertificate {
        try Self.issueServerCertificate(
            by: servers, names: names, key: key, isLocal: isLocal, life: life, now: now, using: &generator)
    }

    static func issueServerCertificate(
        by issuer: CertificateIssuer,
        names: [String],
        key: P256.Signing.PrivateKey = P256.Signing.PrivateKey(),
        isLocal: Bool = true,
        life: Double = CertificateLives.server,
        now: Double,
        using generator: inout some RandomNumberGenerator,
    ) throws(TrustError) -> IssuedCertificate {
        let alternativeNames = try ServerNames.alternativeNames(names, isLocal: isLocal)
        return try issue(
            Certificate.PublicKey(key.publicKey),
            by: issuer,
            subject: { try name("Carillon Server") },
            life: life,
            usage: .serverAuth,
            extensions: { [try Certificate.Extension(alternativeNames, critical: false)] },
            keyPEM: key.pemRepresentation + "\n",
            now: now,
            using: &generator,
        )
    }

    /// Issues a device certificate for the key of a request.
    ///
    /// - Parameters:
    ///   - request: PKCS#10, PEM, at most 8 KiB, signed with its own key (P-256, P-384 or RSA of 2048 to 4096 bits, and
    ///     SHA-256 or better). Nothing but the public key is taken from it.
    ///   - now: seconds since 1970.
    package func issueDeviceCertificate(
        request: [UInt8],
        device: DeviceID,
        environment: Environment,
        now: Double,
        using generator: inout some RandomNumberGenerator,
    ) throws(TrustError) -> IssuedCertificate {
        try Self.issue(
            SigningRequest.publicKey(pem: request),
            by: devices,
            subject: { try Self.name("Device \(device)") },
            life: CertificateLives.device,
            usage: .clientAuth,
            extensions: { [try Certificate.Extension(CertificateRole.device(device, environment))] },
            keyPEM: nil,
            now: now,
            using: &generator,
        )
    }

    /// Issues a provider certificate (Guide, 2.3.2) for the key of a request, which is read like that of a device.
    ///
    /// - Parameters:
    ///   - environments: one, or both for a universal certificate.
    ///   - topics: the topics in its extension.
    ///   - now: seconds since 1970.
    package func issueProviderCertificate(
        request: [UInt8],
        bundleID: BundleID,
        environments: Set<Environment>,
        topics: CertificateTopicChoice = .app,
        now: Double,
        using generator: inout some RandomNumberGenerator,
    ) throws(TrustError) -> IssuedCertificate {
        try Self.issue(
            SigningRequest.publicKey(pem: request),
            by: providers,
            subject: {
                try DistinguishedName([
                    RelativeDistinguishedName.Attribute(
                        type: CertificateIdentifiers.userID, value: .init(utf8String: bundleID.rawValue)),
                    RelativeDistinguishedName.Attribute(
                        type: .RDNAttributeType.commonName,
                        value: .init(utf8String: Self.commonName(bundleID, environments))),
                ])
            },
            life: CertificateLives.provider,
            usage: .clientAuth,
            extensions: {
                let markers = try Environment.allCases.filter(environments.contains)
                    .map { try Certificate.Extension(markerFor: $0) }
                let list = topics.topics(of: bundleID)
                let listed = list.isEmpty ? [] : [try Certificate.Extension(CertificateTopics(list: list))]
                return listed + markers + [try Certificate.Extension(CertificateRole.provider)]
            },
            keyPEM: nil,
            now: now,
            using: &generator,
        )
    }

    /// The common name of a provider certificate, as Apple writes it. Client libraries look for the bundle ID after the
    /// colon, and some refuse a certificate without these words.
    private static func commonName(_ bundleID: BundleID, _ environments: Set<Environment>) -> String {
        let services = environments == [.development] ? "Apple Development IOS Push Services" : "Apple Push Services"
        return "\(services): \(bundleID)"
    }

    /// Issues an administrator's certificate and a key for it.
    /// - Parameter now: seconds since 1970.
    package func issueAdministratorCertificate(
        now: Double,
        using generator: inout some RandomNumberGenerator,
    ) throws(TrustError) -> IssuedCertificate {
        try issueWithKey("Administrator", .administrator, CertificateLives.administrator, now: now, using: &generator)
    }

    /// Issues a node's certificate, with which it calls other nodes, and a key for it.
    /// - Parameter now: seconds since 1970.
    package func issueNodeCertificate(
        now: Double,
        using generator: inout some RandomNumberGenerator,
    ) throws(TrustError) -> IssuedCertificate {
        try issueWithKey("Node", .node, CertificateLives.node, now: now, using: &generator)
    }

    /// Issues a certificate of the administrators' intermediate, and a key for it.
    private func issueWithKey(
        _ name: String,
        _ role: CertificateRole,
        _ life: Double,
        now: Double,
        using generator: inout some RandomNumberGenerator,
    ) throws(TrustError) -> IssuedCertificate {
        let key = P256.Signing.PrivateKey()
        return try Self.issue(
            Certificate.PublicKey(key.publicKey),
            by: administrators,
            subject: { try Self.name(name) },
            life: life,
            usage: .clientAuth,
            extensions: { [try Certificate.Extension(role)] },
            keyPEM: key.pemRepresentation + "\n",
            now: now,
            using: &generator,
        )
    }

    private static func issue(
        _ publicKey: Certificate.PublicKey,
        by issuer: CertificateIssuer,
        subject: () throws -> DistinguishedName,
        life: Double,
        usage: ExtendedKeyUsage.Usage,
        extensions: () throws -> [Certificate.Extension],
        keyPEM: String?,
        now: Double,
        using generator: inout some RandomNumberGenerator,
    ) throws(TrustError) -> IssuedCertificate {
        let serial = CertificateSerial.random(using: &generator)
        return try TrustError.wrapping(.failed, "The certificate could not be made.") {
            let common = [
                try Certificate.Extension(BasicConstraints.notCertificateAuthority, critical: true),
                try Certificate.Extension(KeyUsage(digitalSignature: true), critical: true),
                try Certificate.Extension(ExtendedKeyUsage([usage]), critical: false),
            ]
            let certificate = try issuer.issue(
                publicKey,
                subject: subject(),
                serial: serial,
                validity: CertificateValidity(now: now, life: life),
                extensions: common + extensions(),
            )
            return IssuedCertificate(
                certificatePEM: try certificate.serializeAsPEM().pemString + "\n",
                intermediatePEM: issuer.certificatePEM,
                keyPEM: keyPEM,
                serial: serial,
                validUntil: certificate.notValidAfter.timeIntervalSince1970,
            )
        }
    }
}
