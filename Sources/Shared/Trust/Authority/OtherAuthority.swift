package import Credentials
import Crypto
import Foundation
import Notifications
import SwiftASN1
import X509

/// A second authority, for rehearsals: a client trusts it only if somebody has told it to. It plays the authority to
/// which a push service changes.
///
/// Its root's key is derived from the key of the service's own authority, so only the certificate has to be kept: after a
/// restart and on all nodes a new one would have the same key, and another fingerprint.
package struct OtherAuthority: Sendable {
    private let root: CertificateIssuer
    private let servers: CertificateIssuer
    /// The root of the service's own authority, signed by this one, in PEM. With it a chain leads to either root.
    private let crossCertificatePEM: String

    /// The root certificate, PEM.
    package var rootPEM: String { root.certificatePEM }

    /// - Parameters:
    ///   - authority: the service's own authority.
    ///   - rootPEM: the root certificate that an earlier call has made for this authority, in PEM. If it is not of this
    ///     authority, or there is none, a new one is made.
    ///   - now: seconds since 1970.
    package init(
        beside authority: CertificateAuthority,
        rootPEM: String? = nil,
        now: Double,
        using generator: inout some RandomNumberGenerator,
    ) throws(TrustError) {
        self = try TrustError.wrapping(.failed, "The other authority could not be made.", quoting: false) {
            let key = try Self.key(beside: authority)
            let mark = Hexadecimal.string(Array(SHA256.hash(data: key.publicKey.x963Representation).prefix(4)))
            // Below this root are the root of the service's own authority, and an intermediate.
            let kept = rootPEM.flatMap { Self.kept($0, key) }
            let root =
                try kept
                ?? CertificateAuthority.makeRoot(
                    "Carillon Other Root \(mark)", key, pathLength: 2, now: now, using: &generator)
            let servers = try CertificateAuthority.makeIntermediate(
                "Other Servers \(mark)", .serverAuth, root, now: now, using: &generator)
            return OtherAuthority(
                root: root, servers: servers,
                crossCertificatePEM: try root.crossSign(authority.root, now: now, using: &generator))
        }
    }

    private init(root: CertificateIssuer, servers: CertificateIssuer, crossCertificatePEM: String) {
        self.root = root
        self.servers = servers
        self.crossCertificatePEM = crossCertificatePEM
    }

    /// Issues a certificate for the service's listeners.
    /// - Parameters:
    ///   - names: as for ``CertificateAuthority/issueServerCertificate(names:key:isLocal:life:now:using:)``.
    ///   - now: seconds since 1970.
    package func issueServerCertificate(
        names: [String],
        now: Double,
        using generator: inout some RandomNumberGenerator,
    ) throws(TrustError) -> IssuedCertificate {
        try CertificateAuthority.issueServerCertificate(by: servers, names: names, now: now, using: &generator)
    }

    /// Adds to a chain of the service's own authority the certificate that leads on to this one's root.
    package func crossSigned(_ chainPEM: String) -> String { chainPEM + crossCertificatePEM }

    /// The issuer of a kept certificate; nil if the certificate cannot be read, or has another key.
    private static func kept(_ pem: String, _ key: P256.Signing.PrivateKey) -> CertificateIssuer? {
        guard let der = try? PEM(pem).certificates.first, let certificate = try? Certificate(derEncoded: der),
            certificate.publicKey == Certificate.PublicKey(key.publicKey)
        else { return nil }
        // This fails only if the key cannot be used, and then a new root fails too, and says so.
        return try? CertificateIssuer(certificate: certificate, key: key)
    }

    private static func key(beside authority: CertificateAuthority) throws -> P256.Signing.PrivateKey {
        let secret = SymmetricKey(data: try authority.servers.signingKeyBytes)
        // Nearly every 32 bytes are a key of P-256: one value in four thousand million is not.
        for attempt in 0..<4 {
            let derived = HKDF<SHA256>.deriveKey(
                inputKeyMaterial: secret, info: Data("Carillon other authority \(attempt)".utf8), outputByteCount: 32)
            let bytes = derived.withUnsafeBytes { Data($0) }
            if let key = try? P256.Signing.PrivateKey(rawRepresentation: bytes) { return key }
        }
        throw TrustError(.failed, "No key of the other authority can be derived.")
    }
}

extension CertificateIssuer {
    /// - Throws: If the key is kept elsewhere.
    fileprivate var signingKeyBytes: Data { get throws(TrustError) { try signingKey.rawRepresentation } }

    /// Signs the certificate of another root, with its name and its key.
    /// - Returns: the certificate in PEM.
    fileprivate func crossSign(
        _ other: CertificateIssuer,
        now: Double,
        using generator: inout some RandomNumberGenerator,
    ) throws -> String {
        let certificate = try issue(
            other.certificate.publicKey,
            subject: other.certificate.subject,
            serial: .random(using: &generator),
            validity: CertificateValidity(now: now, life: CertificateLives.intermediate),
            extensions: [
                Certificate.Extension(BasicConstraints.isCertificateAuthority(maxPathLength: 1), critical: true),
                Certificate.Extension(KeyUsage(keyCertSign: true), critical: true),
                Certificate.Extension(other.keyIdentifier, critical: false),
            ],
        )
        return try certificate.serializeAsPEM().pemString + "\n"
    }
}
