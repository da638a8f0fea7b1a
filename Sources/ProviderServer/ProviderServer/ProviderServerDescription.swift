import Foundation
import Notifications
import PrivateFiles

extension ProviderServer {
    /// The address of a running server, for commands on the same machine.
    package struct Description: Codable, Sendable, Hashable {
        package var url: String
        /// The file with the administrator's key.
        package var keyFile: String
        /// The certificate of the server, which clients trust; nil without TLS.
        package var certificate: String?

        private static let fileName = "provider.json"

        /// - Returns: nil if no server runs on the folder.
        package static func read(folder: String) -> Description? {
            FileManager.default.contents(atPath: folder + "/" + fileName)
                .flatMap { try? JSONValue.decode($0) }
        }

        func write(folder: String) throws {
            _ = try Files.make(
                folder + "/" + Self.fileName, Array(try JSONValue(encoding: self).text.utf8), replacing: true)
        }

        static func remove(folder: String) {
            // Ignore a failure: the file then names a server that does not answer.
            try? Files.remove(folder + "/" + fileName)
        }
    }
}
