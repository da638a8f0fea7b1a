package import Credentials
import Crypto
import SwiftASN1
import X509

// Reads the requests of others. Only the public key is taken from them. Their names, extensions and usages are ignored, because the
// authority decides what a certificate contains.
extension SigningRequest {
    private static let accepted: Set<Certificate.SignatureAlgorithm> = [
        .ecdsaWithSHA256, .ecdsaWithSHA384, .ecdsaWithSHA512,
        .sha256WithRSAEncryption, .sha384WithRSAEncryption, .sha512WithRSAEncryption,
    ]

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
