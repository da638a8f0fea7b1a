package import Credentials
import Crypto
import Foundation
import Notifications
import SwiftASN1
import X509

/// The service's own certificate authority (ECDSA P-256, SHA-256).
///
/// A root signs four intermediates, for servers, providers, devices and administrators. Each intermediate signs
/// certificates for that use only. So a certificate is never valid for another use, even for software that only checks
/// the chain: the extended key usage of an intermediate restricts the certificates below it.
package struct CertificateAuthority: Sendable {
    let root: CertificateIssuer
    let servers: CertificateIssuer
    let providers: CertificateIssuer
    let devices: CertificateIssuer
    let administrators: CertificateIssuer

    /// The root certificate, PEM. Clients have to trust it.
    package var rootPEM: String { root.certificatePEM }

    /// The secrets for the store. ``init(secrets:)`` makes the same authority from them.
    package var secrets: AuthoritySecrets {
        AuthoritySecrets(
            root: root.kept, servers: servers.kept, providers: providers.kept, devices: devices.kept,
            administrators: administrators.kept)
    }

    /// Makes a new authority.
    ///
    /// - Parameters:
    ///   - externalRoot: the operator's root; nil to make a root. Only its certificate is kept.
    ///   - now: seconds since 1970.
    ///   - generator: chooses names and serial numbers. Keys come from the cryptography library.
    package static func create(
        under externalRoot: ExternalRoot? = nil,
        now: Double,
        using generator: inout some RandomNumberGenerator,
    ) throws(TrustError) -> CertificateAuthority {
        do {
            let mark = mark(using: &generator)
            let root =
                try externalRoot?.issuer(now: now) ?? makeRoot("Carillon Root \(mark)", now: now, using: &generator)
            return try CertificateAuthority(
                root: externalRoot == nil ? root : CertificateIssuer(certificate: root.certificate, key: nil),
                servers: makeIntermediate("Servers \(mark)", .serverAuth, root, now: now, using: &generator),
                providers: makeIntermediate("Providers \(mark)", .clientAuth, root, now: now, using: &generator),
                devices: makeIntermediate("Devices \(mark)", .clientAuth, root, now: now, using: &generator),
                administrators: makeAdministrators(mark, root, now: now, using: &generator),
            )
        } catch let error as TrustError {
            throw error
        } catch {
            throw TrustError(.failed, "The certificate authority could not be made.", cause: error)
        }
    }

    /// Makes the intermediate for administrators. An authority that was made before administrators had certificates
    /// lacks it.
    ///
    /// - Parameters:
    ///   - externalRoot: the authority's root with its key; nil if `kept` has the key.
    ///   - now: seconds since 1970.
    package static func makeAdministrators(
        under externalRoot: ExternalRoot?,
        or kept: AuthoritySecrets.Issuer,
        now: Double,
        using generator: inout some RandomNumberGenerator,
    ) throws(TrustError) -> AuthoritySecrets.Issuer {
        try TrustError.wrapping(.failed, "The certificate for administrators could not be made.") {
            let root = try externalRoot?.issuer(now: now) ?? CertificateIssuer(kept)
            return try makeAdministrators(mark(using: &generator), root, now: now, using: &generator).kept
        }
    }

    /// Loads an authority that was kept.
    ///
    /// - Throws: ``TrustError`` if a part cannot be read, if a key does not belong to its certificate, or if the root
    ///   did not sign an intermediate.
    package init(secrets: AuthoritySecrets) throws(TrustError) {
        self = try TrustError.wrapping(.malformed, "The certificate authority cannot be read.") {
            CertificateAuthority(
                root: try CertificateIssuer(secrets.root),
                servers: try CertificateIssuer(secrets.servers),
                providers: try CertificateIssuer(secrets.providers),
                devices: try CertificateIssuer(secrets.devices),
                administrators: try CertificateIssuer(secrets.administrators),
            )
        }
        guard root.certificate.publicKey.isValidSignature(root.certificate.signature, for: root.certificate),
            root.signed(servers.certificate), root.signed(providers.certificate), root.signed(devices.certificate),
            root.signed(administrators.certificate)
        else { throw TrustError(.untrusted, "The authority's certificates were not signed by its root.") }
        // Two intermediates that differ only in their names would not separate the uses.
        let intermediates = [servers, providers, devices, administrators]
        guard Set(intermediates.map(\.certificate.subject)).count == intermediates.count else {
            throw TrustError(.untrusted, "Two of the authority's intermediates are the same.")
        }
    }

    private init(
        root: CertificateIssuer,
        servers: CertificateIssuer,
        providers: CertificateIssuer,
        devices: CertificateIssuer,
        administrators: CertificateIssuer,
    ) {
        self.root = root
        self.servers = servers
        self.providers = providers
        self.devices = devices
        self.administrators = administrators
    }

    /// Two authorities must not have the same name, because a client that trusts one would try it for the other's
    /// certificates.
    private static func mark(using generator: inout some RandomNumberGenerator) -> String {
        Hexadecimal.string((0..<4).map { _ in UInt8.random(in: 0...255, using: &generator) })
    }

    private static func makeAdministrators(
        _ mark: String,
        _ root: CertificateIssuer,
        now: Double,
        using generator: inout some RandomNumberGenerator,
    ) throws -> CertificateIssuer {
        try makeIntermediate("Administrators \(mark)", .clientAuth, root, now: now, using: &generator)
    }

    /// - Parameters:
    ///   - name: the common name.
    ///   - pathLength: how many authorities may be between the root and a certificate.
    static func makeRoot(
        _ name: String,
        _ key: P256.Signing.PrivateKey = P256.Signing.PrivateKey(),
        pathLength: Int = 1,
        now: Double,
        using generator: inout some RandomNumberGenerator,
    ) throws -> CertificateIssuer {
        let publicKey = Certificate.PublicKey(key.publicKey)
        let name = try Self.name(name)
        let validity = CertificateValidity(now: now, life: CertificateLives.root)
        let certificate = try Certificate(
            version: .v3,
            serialNumber: CertificateSerial.random(using: &generator).number,
            publicKey: publicKey,
            notValidBefore: validity.start,
            notValidAfter: validity.end,
            issuer: name,
            subject: name,
            signatureAlgorithm: CertificateIssuer.signatureAlgorithm,
            extensions: try Certificate.Extensions {
                Critical(BasicConstraints.isCertificateAuthority(maxPathLength: pathLength))
                Critical(KeyUsage(keyCertSign: true))
                SubjectKeyIdentifier(hash: publicKey)
            },
            issuerPrivateKey: Certificate.PrivateKey(key),
        )
        return try CertificateIssuer(certificate: certificate, key: key)
    }

    static func makeIntermediate(
        _ commonName: String,
        _ usage: ExtendedKeyUsage.Usage,
        _ root: CertificateIssuer,
        now: Double,
        using generator: inout some RandomNumberGenerator,
    ) throws -> CertificateIssuer {
        let key = P256.Signing.PrivateKey()
        let certificate = try root.issue(
            Certificate.PublicKey(key.publicKey),
            subject: name("Carillon \(commonName)"),
            serial: .random(using: &generator),
            validity: CertificateValidity(now: now, life: CertificateLives.intermediate),
            extensions: [
                Certificate.Extension(BasicConstraints.isCertificateAuthority(maxPathLength: 0), critical: true),
                Certificate.Extension(KeyUsage(keyCertSign: true, cRLSign: true), critical: true),
                Certificate.Extension(ExtendedKeyUsage([usage]), critical: false),
                // A certificate that signs nothing gets no identifier here. RFC 5280, 4.2.1.2, only recommends it, and
                // each connection would keep it in memory, parsed.
                Certificate.Extension(
                    SubjectKeyIdentifier(hash: Certificate.PublicKey(key.publicKey)), critical: false),
            ],
        )
        return try CertificateIssuer(certificate: certificate, key: key)
    }

    /// A name that consists only of a common name. Both sides of a connection keep the other's parsed certificates in
    /// memory, and each attribute of a name takes 200 bytes.
    static func name(_ commonName: String) throws -> DistinguishedName {
        try DistinguishedName { CommonName(commonName) }
    }
}
