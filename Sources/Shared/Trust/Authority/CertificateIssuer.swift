import Credentials
import Crypto
import Foundation
import Notifications
import SwiftASN1
import X509

/// A certificate that signs others, and its key: the root or an intermediate.
struct CertificateIssuer: Sendable {
    let certificate: Certificate
    /// The key; nil for a root whose key is kept elsewhere. Such a root cannot sign any more.
    private let key: P256.Signing.PrivateKey?
    let certificatePEM: String
    let keyIdentifier: SubjectKeyIdentifier

    /// The only signature algorithm of the authority: all of its keys are P-256.
    static let signatureAlgorithm = Certificate.SignatureAlgorithm.ecdsaWithSHA256

    /// - Throws: if the key does not belong to the certificate.
    init(certificate: Certificate, key: P256.Signing.PrivateKey?) throws {
        if let key, certificate.publicKey != Certificate.PublicKey(key.publicKey) {
            throw TrustError(.untrusted, "An authority's certificate and key do not belong together.")
        }
        self.certificate = certificate
        self.key = key
        certificatePEM = try certificate.serializeAsPEM().pemString + "\n"
        keyIdentifier =
            try certificate.extensions.subjectKeyIdentifier ?? SubjectKeyIdentifier(hash: certificate.publicKey)
    }

    /// - Throws: If the key is kept elsewhere.
    var signingKey: P256.Signing.PrivateKey {
        get throws(TrustError) {
            guard let key else { throw TrustError(.failed, "The key of this authority's root is kept elsewhere.") }
            return key
        }
    }

    /// Loads one that was kept, and checks that certificate and key belong together.
    init(_ kept: AuthoritySecrets.Issuer) throws {
        let key = try TrustError.wrapping(.malformed, "An authority's key cannot be read.", quoting: false) {
            try kept.keyPEM.map { try PEM($0).signingKey }
        }
        let certificate = try TrustError.wrapping(.malformed, "An authority's certificate cannot be read.") {
            try Certificate(derEncoded: PEM(kept.certificatePEM).certificates[0])
        }
        try self.init(certificate: certificate, key: key)
    }

    var kept: AuthoritySecrets.Issuer {
        AuthoritySecrets.Issuer(certificatePEM: certificatePEM, keyPEM: key.map { $0.pemRepresentation + "\n" })
    }

    /// Whether this certificate signed `other`, by name, key identifier and signature.
    func signed(_ other: Certificate) -> Bool {
        // An authority key identifier that cannot be read matches no certificate.
        let named = try? other.extensions.authorityKeyIdentifier?.keyIdentifier
        return other.issuer == certificate.subject && named == keyIdentifier.keyIdentifier
            && other.signatureAlgorithm == Self.signatureAlgorithm
            && certificate.publicKey.isValidSignature(other.signature, for: other)
    }

    /// Signs a certificate.
    func issue(
        _ publicKey: Certificate.PublicKey,
        subject: DistinguishedName,
        serial: CertificateSerial,
        validity: CertificateValidity,
        extensions: [Certificate.Extension],
    ) throws -> Certificate {
        let authority = try Certificate.Extension(
            AuthorityKeyIdentifier(keyIdentifier: keyIdentifier.keyIdentifier), critical: false)
        return try Certificate(
            version: .v3,
            serialNumber: serial.number,
            publicKey: publicKey,
            notValidBefore: validity.start,
            // A certificate is never valid for longer than the one that signed it.
            notValidAfter: min(validity.end, certificate.notValidAfter),
            issuer: certificate.subject,
            subject: subject,
            signatureAlgorithm: Self.signatureAlgorithm,
            extensions: try Certificate.Extensions(extensions + [authority]),
            issuerPrivateKey: Certificate.PrivateKey(try signingKey),
        )
    }
}

/// The first and the last second of a certificate's validity period.
struct CertificateValidity: Sendable {
    let start: Date
    let end: Date

    /// - Parameters:
    ///   - now: seconds since 1970.
    ///   - life: in seconds (``CertificateLives``).
    init(now: Double, life: Double) {
        // Certificates count in whole seconds (RFC 5280, 4.1.2.5).
        start = Date(timeIntervalSince1970: (now - CertificateLives.clockTolerance).rounded(.down))
        end = Date(timeIntervalSince1970: (now + life).rounded(.down))
    }
}
