package import Credentials
import SwiftASN1
import X509

/// A certificate chain that the operator supplies.
package enum CertificateChain {
    /// Checks that each certificate was signed by the next one, and the last one by the root. Otherwise no client would
    /// trust the service. Names and dates are not checked here; clients check them.
    ///
    /// - Parameters:
    ///   - chain: in PEM, the server's own certificate first. The root may be at its end.
    ///   - root: in PEM. If there are several, one has to match.
    package static func check(_ chain: [UInt8], leadsTo root: [UInt8]) throws(TrustError) {
        let (chain, roots) = (try certificates(chain), try certificates(root))
        guard let last = chain.last else { throw TrustError(.untrusted, "There is no certificate.") }
        for (certificate, issuer) in zip(chain, chain.dropFirst()) {
            guard isSigned(certificate, by: issuer) else {
                throw TrustError(.untrusted, "One of the certificates was not signed by the next.")
            }
        }
        guard roots.contains(where: { $0 == last || isSigned(last, by: $0) }) else {
            throw TrustError(.untrusted, "The last certificate was not signed by the root.")
        }
    }

    private static func certificates(_ pem: [UInt8]) throws(TrustError) -> [Certificate] {
        let certificates = try PEM(pem).certificates
        return try TrustError.reading("A certificate cannot be read.") {
            try certificates.map { try Certificate(derEncoded: $0) }
        }
    }

    private static func isSigned(_ certificate: Certificate, by issuer: Certificate) -> Bool {
        certificate.issuer == issuer.subject
            && issuer.publicKey.isValidSignature(certificate.signature, for: certificate)
    }
}
