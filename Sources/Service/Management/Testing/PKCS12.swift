import Credentials
import Foundation
import HTTPAPI
import NIOSSL

/// A provider certificate and its key as PKCS#12 (RFC 7292), as many client libraries want them.
package enum PKCS12 {
    /// The maximum length of a passphrase in bytes: more than anybody types.
    package static let maximumPassphraseBytes = 100

    /// Describes what ``isAllowed(_:)`` allows, for messages with "has to be".
    package static let allowed = "at most \(maximumPassphraseBytes) bytes, without zero bytes, emoji and noncharacters"

    /// PKCS#12 encodes a passphrase in UCS-2 with a zero at its end (RFC 7292, B.1). So it cannot contain a zero, or a
    /// character beyond U+FFFF. BoringSSL takes no noncharacter either, and gives no bundle for one.
    package static func isAllowed(_ passphrase: String) -> Bool {
        passphrase.utf8.count <= maximumPassphraseBytes
            && passphrase.unicodeScalars.allSatisfy {
                (1...0xffff).contains($0.value) && !$0.properties.isNoncharacterCodePoint
            }
    }

    /// - Parameters:
    ///   - chain: the certificate in PEM, and its intermediate if the file should have it. Some libraries take no more than
    ///     the two parts that Apple's files have, a certificate and its key.
    ///   - privateKey: the key in PEM.
    ///   - passphrase: one that ``isAllowed(_:)`` allows.
    package static func bytes(chain: String, privateKey: String, passphrase: String) throws -> [UInt8] {
        let certificates = try PEM(chain).certificates.map { try NIOSSLCertificate(bytes: $0, format: .der) }
        let key = try NIOSSLPrivateKey(bytes: PEM(privateKey).privateKey, format: .der)
        return try NIOSSLPKCS12Bundle(certificateChain: certificates, privateKey: key)
            .serialize(passphrase: Array(passphrase.utf8))
    }

    /// Checks the requested format before anything is made.
    /// - Parameter pointer: the place of the certificate in the request's document.
    /// - Returns: the passphrase; nil if the request does not ask for PKCS#12.
    static func passphrase(
        _ passphrase: String?,
        format: String?,
        at pointer: String,
    ) throws(Problem) -> String? {
        guard format == CertificateFormat.p12.rawValue else {
            guard passphrase == nil else {
                throw .invalid(pointer + "/passphrase", "A passphrase is only for the format p12.")
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

    /// - Parameter passphrase: nil if the request does not ask for PKCS#12.
    /// - Returns: the bundle in Base64; nil if there is no passphrase or no private key.
    static func base64(_ made: ManagementMessages.CertificateMade, passphrase: String?) throws -> String? {
        guard let passphrase, let key = made.privateKey else { return nil }
        return Data(try bytes(chain: made.chain, privateKey: key, passphrase: passphrase)).base64EncodedString()
    }
}
