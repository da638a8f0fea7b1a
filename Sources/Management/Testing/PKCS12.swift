import Foundation
import NIOSSL

/// A provider certificate and its key as PKCS#12 (RFC 7292).
enum PKCS12 {
    /// In bytes: nobody types more.
    static let maximumPassphraseBytes = 100

    /// - Parameter pointer: the place of the certificate in the request's document.
    static func base64(
        _ made: ManagementMessages.CertificateMade,
        passphrase: String,
        pointer: String,
    ) throws -> String {
        guard passphrase.utf8.count <= maximumPassphraseBytes, !passphrase.utf8.contains(0) else {
            throw Problem.invalid(
                pointer + "/passphrase",
                "The value has to be at most \(maximumPassphraseBytes) bytes, none of them zero.")
        }
        let certificates = try NIOSSLCertificate.fromPEMBytes(Array(made.chain.utf8))
        let key = try NIOSSLPrivateKey(bytes: Array((made.privateKey ?? "").utf8), format: .pem)
        let bundle = NIOSSLPKCS12Bundle(certificateChain: certificates, privateKey: key)
        return Data(try bundle.serialize(passphrase: Array(passphrase.utf8))).base64EncodedString()
    }
}
