import Foundation
import Trust

/// A certificate for the listeners that somebody else keeps: an organisation's own authority, or an ACME client.
package struct ServerCertificateFiles: Sendable, Hashable {
    /// The chain, PEM, the server's own certificate first.
    package var certificate: String
    /// Its key, PEM, not encrypted.
    package var key: String
    /// The root that clients know it by, PEM.
    package var authority: String

    package init(certificate: String, key: String, authority: String) {
        self.certificate = certificate
        self.key = key
        self.authority = authority
    }

    /// In bytes of each file: a chain of many certificates fits.
    static let maximumBytes = 256 * 1024

    /// What is in the files.
    struct Contents: Sendable, Equatable {
        var certificate: [UInt8]
        var key: [UInt8]
        var authority: [UInt8]
    }

    /// - Throws: where one cannot be read, or the chain does not lead to the root.
    func read() throws(ServiceError) -> Contents {
        let contents = Contents(
            certificate: try Self.read(certificate), key: try Self.read(key), authority: try Self.read(authority))
        do {
            try CertificateChain.check(contents.certificate, leadsTo: contents.authority)
        } catch {
            throw ServiceError(
                .trust, "The certificates in \(certificate) do not lead to the root in \(authority): \(error.reason)")
        }
        return contents
    }

    /// A file of a sensible size.
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
