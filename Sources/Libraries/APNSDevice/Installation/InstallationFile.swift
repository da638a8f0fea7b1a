import Credentials
import Crypto
import Foundation
import Notifications

/// What an app keeps about its installation from launch to launch. The secret is in the file, so only its owner may
/// read it.
struct InstallationFile: Sendable {
    /// The identifier, the secret, and what the provider server was told last.
    struct Content: Codable, Sendable, Hashable {
        /// The installation's identifier: a UUID.
        var id: String
        /// The secret that proves that a request is from this installation: 256 random bits.
        var secret: String
        /// A digest of what was sent last; nil if nothing was sent.
        var sent: String?
        var sentAt: Date?
    }

    let path: String

    /// Reads the file. If there is none, or if it is damaged, makes a new installation, and writes it before anything is
    /// sent: otherwise a crash would leave an installation whose secret nobody knows.
    func read() throws(DeviceError) -> Content {
        if FileManager.default.fileExists(atPath: path) {
            guard let data = FileManager.default.contents(atPath: path) else {
                throw DeviceError(.storage, "\(path) cannot be read.")
            }
            if let known = try? JSONValue.decode(data, as: Content.self) { return known }
        }
        let secret = Data(RandomBytes.make()).base64EncodedString()
        let new = Content(id: UUID().uuidString.lowercased(), secret: secret)
        try write(new)
        return new
    }

    func write(_ content: Content) throws(DeviceError) {
        let data: Data
        do {
            data = Data(try JSONValue(encoding: content).text.utf8)
        } catch {
            throw DeviceError(.storage, "The installation cannot be written as JSON: \(error)")
        }
        try OwnFile.write(data, to: path)
    }

    /// A digest of a request, so that the file contains no device token and no user.
    static func digest(_ server: String, _ body: Data) -> String {
        var hash = SHA256()
        hash.update(data: Data("\(server)\n".utf8))
        hash.update(data: body)
        return Data(hash.finalize()).base64EncodedString()
    }
}
