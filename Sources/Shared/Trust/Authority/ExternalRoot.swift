import Credentials
import Crypto
import Foundation
import SwiftASN1
import X509

/// A root certificate that the operator already has. The service's authority is made under it.
package struct ExternalRoot: Sendable {
    let certificatePEM: String
    let keyPEM: String

    /// - Parameters:
    ///   - certificatePEM: a self-signed certificate with a P-256 key that may sign certificates, with room for an
    ///     intermediate below it.
    ///   - keyPEM: the key in PKCS#8 or SEC 1, not encrypted. It is used once and not kept.
    package init(certificatePEM: String, keyPEM: String) {
        self.certificatePEM = certificatePEM
        self.keyPEM = keyPEM
    }

    /// Whether an authority was made under this root.
    package func isRoot(of authority: CertificateAuthority) -> Bool {
        // A certificate that cannot be read matches no root.
        (try? certificate) == authority.root.certificate
    }

    private var certificate: Certificate {
        get throws(TrustError) {
            let pem = try PEM(certificatePEM).certificates
            return try TrustError.reading("The authority's certificate cannot be read.") {
                try Certificate(derEncoded: pem[0])
            }
        }
    }

    /// Reads the certificate and checks that it can be a root.
    func issuer(now: Double) throws -> CertificateIssuer {
        let certificate = try certificate
        let key = try PEM(keyPEM).signingKey
        guard certificate.issuer == certificate.subject,
            certificate.publicKey.isValidSignature(certificate.signature, for: certificate)
        else { throw TrustError(.untrusted, "The authority's certificate is not self-signed: name the root.") }
        let mayIssue = try TrustError.wrapping(.malformed, "The authority's certificate cannot be read.") {
            guard case .isCertificateAuthority(let length) = try certificate.extensions.basicConstraints,
                length.map({ $0 >= 1 }) ?? true
            else { return false }
            return try certificate.extensions.keyUsage?.keyCertSign ?? true
        }
        guard mayIssue else {
            throw TrustError(.wrongUse, "The authority's certificate may not sign intermediate certificates.")
        }
        guard now >= certificate.notValidBefore.timeIntervalSince1970,
            now <= certificate.notValidAfter.timeIntervalSince1970
        else { throw TrustError(.expired, "The authority's certificate is not valid now.") }
        return try CertificateIssuer(certificate: certificate, key: key)
    }
}
