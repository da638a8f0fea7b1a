import Credentials
import Foundation
import Trust

/// The files of a certificate for the listeners that the operator supplies. It may come from an organisation's
/// authority or an ACME client.
package struct ServerCertificateFiles: Sendable, Hashable {
    /// The path of the certificate chain in PEM, the server's own certificate first.
    package var certificate: String
    /// The path of the certificate's private key in PEM, without a passphrase.
    package var key: String
    /// The path of the root certificate that clients trust, in PEM.
    package var authority: String

    package init(certificate: String, key: String, authority: String) {
        self.certificate = certificate
        self.key = key
        self.authority = authority
    }

    /// The largest allowed size of each file, in bytes: enough for a long chain of certificates.
    static let maximumBytes = 256 * 1024

    /// The contents of the files.
    struct Contents: Sendable, Equatable {
        var certificate: [UInt8]
        var key: [UInt8]
        var authority: [UInt8]
    }

    /// Reads the files.
    /// - Throws: if a file cannot be read, or if the chain does not end at the root.
    func read() throws(ServiceError) -> Contents {
        let contents = Contents(
            certificate: try Self.read(certificate), key: try Self.read(key), authority: try Self.read(authority))
        try Self.check(certificate) { () throws(TrustError) in _ = try PEM(contents.certificate).certificates }
        try Self.check(authority) { () throws(TrustError) in _ = try PEM(contents.authority).certificates }
        try Self.check(key) { () throws(TrustError) in _ = try PEM(contents.key).privateKey }
        do {
            try CertificateChain.check(contents.certificate, leadsTo: contents.authority)
        } catch {
            throw ServiceError(
                .trust, "The certificates in \(certificate) do not lead to the root in \(authority): \(error.reason)")
        }
        return contents
    }

    private static func check(_ path: String, _ body: () throws(TrustError) -> Void) throws(ServiceError) {
        do {
            try body()
        } catch {
            throw ServiceError(.trust, "The file \(path) cannot be used: \(error.clause).")
        }
    }

    /// Reads a file of at most ``maximumBytes``.
    static func read(_ path: String) throws(ServiceError) -> [UInt8] {
        let data: Data
        do {
            data = try Data(contentsOf: URL(fileURLWithPath: DataFolder(path).path))
        } catch {
            throw ServiceError(.trust, "The file \(path) cannot be read: \(DataFolder.reason(error)).")
        }
        guard data.count <= maximumBytes else {
            throw ServiceError(.trust, "The file \(path) has more than \(maximumBytes) bytes.")
        }
        return Array(data)
    }
}
