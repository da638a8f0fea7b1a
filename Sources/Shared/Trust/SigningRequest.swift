package import Crypto
import SwiftASN1
import X509

/// A request for a certificate (PKCS#10, RFC 2986), of a device, a provider or an administrator.
///
/// Only the public key is taken from it. Its name, extensions and usages are ignored, because the authority decides
/// what a certificate contains.
package enum SigningRequest {
    /// The largest size in PEM, in bytes. Larger requests are refused unread. A request with an RSA key of 4096 bits
    /// and a long subject has some 2,000.
    package static let maximumBytes = 8192

    private static let accepted: Set<Certificate.SignatureAlgorithm> = [
        .ecdsaWithSHA256, .ecdsaWithSHA384, .ecdsaWithSHA512,
        .sha256WithRSAEncryption, .sha384WithRSAEncryption, .sha512WithRSAEncryption,
    ]

    /// Makes a request for a key, in PEM. The name in it is empty.
    package static func pem(for key: P256.Signing.PrivateKey) throws(TrustError) -> String {
        try TrustError.wrapping(.failed, "The certificate request could not be made.") {
            let request = try CertificateSigningRequest(
                version: .v1,
                subject: DistinguishedName(),
                privateKey: Certificate.PrivateKey(key),
                attributes: CertificateSigningRequest.Attributes(),
                signatureAlgorithm: .ecdsaWithSHA256,
            )
            return try request.serializeAsPEM().pemString + "\n"
        }
    }

    /// Identifies the key of a request: SHA-256 of its public half (SubjectPublicKeyInfo), 32 bytes. The request's signature proves
    /// that the sender holds the private key.
    package static func keyDigest(pem: [UInt8]) throws(TrustError) -> [UInt8] {
        let key = try publicKey(pem: pem)
        return try TrustError.reading("The certificate request's key cannot be read.") {
            Array(SHA256.hash(data: try key.serializeAsPEM().derBytes))
        }
    }

    /// The public key of a request whose signature proves that the sender holds the private key.
    static func publicKey(pem: [UInt8]) throws(TrustError) -> Certificate.PublicKey {
        guard pem.count <= maximumBytes else {
            throw TrustError(.tooLarge, "The certificate request is larger than \(maximumBytes) bytes.")
        }
        let der = try PEM(pem).certificateRequest
        let request = try TrustError.reading("The certificate request cannot be read.") {
            try CertificateSigningRequest(derEncoded: der)
        }
        // The size of the key bounds the work of the signature check, so it comes first.
        try AcceptedPublicKey.check(request.publicKey)
        guard accepted.contains(request.signatureAlgorithm) else {
            throw TrustError(.unsupportedAlgorithm, "The certificate request is not signed with SHA-256 or better.")
        }
        guard request.publicKey.isValidSignature(request.signature, for: request) else {
            throw TrustError(.badSignature, "The certificate request is not signed with its own key.")
        }
        return request.publicKey
    }
}
