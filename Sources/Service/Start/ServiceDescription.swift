import Foundation
package import Notifications

/// What the commands need to know of a running service: a file in its data folder, there while it runs.
package struct ServiceDescription: Codable, Sendable, Hashable {
    /// Where one environment listens, `host:port`.
    package struct Addresses: Codable, Sendable, Hashable {
        package var provider: String
        /// The binary API.
        package var binary: String
        package var feedback: String
        package var courier: String
        /// The management of broadcast channels.
        package var channels: String

        package init(provider: String, binary: String, feedback: String, courier: String, channels: String) {
            self.provider = provider
            self.binary = binary
            self.feedback = feedback
            self.courier = courier
            self.channels = channels
        }
    }

    /// The key that `carillon send` signs with when it is given none, made at the first start.
    package struct DevelopmentKey: Codable, Sendable, Hashable {
        package var teamID: String
        package var keyID: String
        package var path: String
        package var bundleID: String?
    }

    /// The management API over TCP.
    package struct Management: Codable, Sendable, Hashable {
        package var url: String
        /// The file that holds the key.
        package var keyFile: String
        /// The key itself, where the file is only a temporary one.
        package var key: String?
    }

    package var processID: Int32
    package var development: Addresses?
    package var production: Addresses?
    /// The name that the TLS handshake has to ask for to reach production, where both environments share their ports.
    package var productionServerName: String?
    /// The root certificate's file.
    package var ca: String
    /// The management API's Unix socket.
    package var socket: String
    /// The management API over TCP; nil if it is switched off.
    package var management: Management?
    /// Where the management API listens with TLS, `host:port`; nil for nowhere.
    package var managementTLS: String?
    package var key: DevelopmentKey?

    /// The name to ask for in the TLS handshake; nil for the host's own.
    package func serverName(_ environment: Environment) -> String? {
        environment == .production ? productionServerName : nil
    }

    package func addresses(_ environment: Environment) -> Addresses? {
        switch environment {
        case .development: development
        case .production: production
        }
    }

    /// The description of the service that runs on the folder.
    package static func read(_ folder: DataFolder) throws(ServiceError) -> ServiceDescription {
        guard let data = FileManager.default.contents(atPath: folder.descriptionFile) else {
            guard !folder.isClosedToThisUser else {
                throw ServiceError(
                    .dataFolder,
                    "The data folder \(folder.path) is another user's: run the command as that user, or set "
                        + "CARILLON_MANAGEMENT_URL and CARILLON_MANAGEMENT_KEY.")
            }
            throw ServiceError(
                .dataFolder, "No service runs on \(folder.path); start one with: carillon serve --data \(folder.path)")
        }
        do {
            return try JSONDecoder().decode(ServiceDescription.self, from: data)
        } catch {
            throw ServiceError(.dataFolder, "\(folder.descriptionFile) cannot be read: \(DataFolder.reason(error)).")
        }
    }

    func write(to folder: DataFolder) throws(ServiceError) {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        do {
            let data = try encoder.encode(self)
            try DataFolder.write(String(decoding: data, as: UTF8.self) + "\n", to: folder.descriptionFile)
        } catch {
            throw error as? ServiceError ?? ServiceError(.dataFolder, DataFolder.reason(error))
        }
    }
}
