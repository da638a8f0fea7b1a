package import Crypto
import SwiftASN1
import X509

/// What a device sends to be activated: a request for a certificate for its own key.
package enum DeviceSigningRequest {
    /// In bytes of PEM: larger ones are refused unread.
    package static let maximumBytes = SigningRequest.maximumBytes

    /// A PKCS#10 request in PEM. The name in it is empty, for the service takes only the key.
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
}
