import Crypto
import Foundation
import Notifications
import SwiftASN1
import Trust
import X509

/// A client certificate with one fault, which the service's intermediate has signed or seems to have signed.
struct ForgedCertificate {
    var notBefore = Date(timeIntervalSinceNow: -3600)
    var notAfter = Date(timeIntervalSinceNow: 3600)
    var usage = ExtendedKeyUsage.Usage.clientAuth
    /// The size of a useless extension, in bytes.
    var paddingBytes = 0
    /// Signs with its own key instead of the intermediate's.
    var isSelfSigned = false
    /// How many times the intermediate is in the chain.
    var intermediates = 1

    /// - Parameters:
    ///   - chainPEM: a valid chain, which is copied.
    ///   - issuer: the issuer of the copy.
    func make(like chainPEM: String, by issuer: AuthoritySecrets.Issuer) throws -> ClientCertificate {
        let leaf = try required(PEMDocument.parseMultiple(pemString: chainPEM).first)
        let original = try Certificate(pemDocument: leaf)
        let key = P256.Signing.PrivateKey()
        let signer =
            isSelfSigned ? key : try P256.Signing.PrivateKey(pemRepresentation: required(issuer.keyPEM))
        var extensions = original.extensions
        extensions.update(try Certificate.Extension(ExtendedKeyUsage([usage]), critical: false))
        if paddingBytes > 0 {
            let padding = ArraySlice([UInt8](repeating: 0, count: paddingBytes))
            try extensions.append(.init(oid: [1, 3, 6, 1, 4, 1, 32473, 9], critical: false, value: padding))
        }
        let certificate = try Certificate(
            version: .v3,
            serialNumber: original.serialNumber,
            publicKey: Certificate.PublicKey(key.publicKey),
            notValidBefore: notBefore,
            notValidAfter: notAfter,
            issuer: original.issuer,
            subject: original.subject,
            signatureAlgorithm: .ecdsaWithSHA256,
            extensions: extensions,
            issuerPrivateKey: Certificate.PrivateKey(signer),
        )
        let chain = try certificate.serializeAsPEM().pemString + "\n"
        return ClientCertificate(
            chainPEM: chain + String(repeating: issuer.certificatePEM, count: intermediates),
            keyPEM: key.pemRepresentation)
    }
}
