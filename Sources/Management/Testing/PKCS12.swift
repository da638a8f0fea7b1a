import Foundation
import NIOSSL

/// A provider certificate and its key as PKCS#12 (RFC 7292), as many client libraries want them.
package enum PKCS12 {
    /// In bytes: nobody types more.
    package static let maximumPassphraseBytes = 100

    /// Says what ``isAllowed(_:)`` allows, after "has to be".
    package static let allowed = "at most \(maximumPassphraseBytes) bytes, without zero bytes and emoji"

    /// A passphrase is encoded in UCS-2 with a zero at its end (RFC 7292, B.1), so it holds neither a zero nor a character
    /// beyond the basic plane.
    package static func isAllowed(_ passphrase: String) -> Bool {
        passphrase.utf8.count <= maximumPassphraseBytes
            && passphrase.unicodeScalars.allSatisfy { (1...0xffff).contains($0.value) }
    }

    /// - Parameters:
    ///   - chain: the certificate and its intermediate, PEM.
    ///   - privateKey: PEM.
    ///   - passphrase: an allowed one.
    package static func bytes(chain: String, privateKey: String, passphrase: String) throws -> [UInt8] {
        let certificates = try NIOSSLCertificate.fromPEMBytes(Array(chain.utf8))
        let key = try NIOSSLPrivateKey(bytes: Array(privateKey.utf8), format: .pem)
        return try NIOSSLPKCS12Bundle(certificateChain: certificates, privateKey: key)
            .serialize(passphrase: Array(passphrase.utf8))
    }

    /// Checks the format that a request asks for, before anything is made.
    /// - Parameter pointer: the place of the certificate in the request's document.
    /// - Returns: the passphrase; nil if PKCS#12 was not asked for.
    static func passphrase(
        _ passphrase: String?,
        format: String?,
        at pointer: String,
    ) throws(Problem) -> String? {
        guard format == CertificateFormat.p12.rawValue else {
            guard passphrase == nil else {
                throw .invalid(pointer + "/passphrase", "A passphrase goes with the format p12.")
            }
            return nil
        }
        guard let passphrase else {
            throw .invalid(pointer + "/passphrase", "The format p12 needs a passphrase; it may be empty.")
        }
        guard isAllowed(passphrase) else {
            throw .invalid(pointer + "/passphrase", "The value has to be \(allowed).")
        }
        return passphrase
    }

    /// - Parameter passphrase: nil if PKCS#12 was not asked for.
    /// - Returns: the bundle in Base64.
    static func base64(_ made: ManagementMessages.CertificateMade, passphrase: String?) throws -> String? {
        guard let passphrase, let key = made.privateKey else { return nil }
        return Data(try bytes(chain: made.chain, privateKey: key, passphrase: passphrase)).base64EncodedString()
    }
}
