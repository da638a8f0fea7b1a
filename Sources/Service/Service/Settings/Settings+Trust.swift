import Configuration
import Trust

// Reads the settings for keys and certificates that the operator supplies. The service makes those that are not set.
extension Settings {
    /// Reads the settings for keys and certificates. Some of them are valid only together.
    mutating func readTrust(_ reader: ConfigReader) throws(ServiceError) {
        let names = ["tls.certificate", "tls.key", "tls.authority"]
        switch names.map({ Self.path(reader, $0) }) {
        case [nil, nil, nil]: break
        case let files where !files.contains(nil):
            let files = files.compactMap(\.self)
            serverCertificate = ServerCertificateFiles(certificate: files[0], key: files[1], authority: files[2])
        default:
            throw ServiceError(.badSetting, "Set all of \(names.joined(separator: ", ")), or none of them.")
        }
        switch (Self.path(reader, "authority.certificate"), Self.path(reader, "authority.key")) {
        case (nil, nil): break
        case (let certificate?, let key?): authority = AuthorityFiles(certificate: certificate, key: key)
        default:
            throw ServiceError(.badSetting, "Set both authority.certificate and authority.key, or neither.")
        }
    }

    /// An absolute path; nil if the setting is missing or empty.
    private static func path(_ reader: ConfigReader, _ key: String) -> String? {
        reader.string(forKey: ConfigKey(key)).flatMap { $0.isEmpty ? nil : DataFolder($0).path }
    }
}

/// The operator's root certificate, under which a new data folder's authority is made.
package struct AuthorityFiles: Sendable, Hashable {
    package var certificate: String
    package var key: String

    package init(certificate: String, key: String) {
        self.certificate = certificate
        self.key = key
    }

    func read() throws(ServiceError) -> ExternalRoot {
        ExternalRoot(
            certificatePEM: String(decoding: try ServerCertificateFiles.read(certificate), as: UTF8.self),
            keyPEM: String(decoding: try ServerCertificateFiles.read(key), as: UTF8.self))
    }
}
