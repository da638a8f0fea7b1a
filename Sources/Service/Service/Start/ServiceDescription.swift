import Foundation
package import Notifications

/// What commands need to know about the running service. While the service runs, it is a file in the data folder.
package struct ServiceDescription: Codable, Sendable, Hashable {
    /// The addresses of one environment's listeners, in the form `host:port`.
    package struct Addresses: Codable, Sendable, Hashable {
        package var provider: String
        /// The address of the binary API.
        package var binary: String
        package var feedback: String
        package var courier: String
        /// The address of the management of broadcast channels.
        package var channels: String
        /// Where Web Push listens, as a URL; nil if the service has none.
        package var webPush: String?

        package init(
            provider: String, binary: String, feedback: String, courier: String, channels: String,
            webPush: String? = nil,
        ) {
            self.webPush = webPush
            self.provider = provider
            self.binary = binary
            self.feedback = feedback
            self.courier = courier
            self.channels = channels
        }
    }

    /// The key that the first start made. `carillon send` signs with it if no other key is given.
    package struct DevelopmentKey: Codable, Sendable, Hashable {
        package var teamID: String
        package var keyID: String
        package var path: String
        package var bundleID: String?
    }

    /// How to reach the management API over TCP.
    package struct Management: Codable, Sendable, Hashable {
        package var url: String
        /// The path of the file with the key.
        package var keyFile: String
        /// The key itself, if the data folder is a temporary one.
        package var key: String?
    }

    package var processID: Int32
    package var development: Addresses?
    package var production: Addresses?
    /// The server name that selects production in the TLS handshake, if both environments share their ports;
    /// otherwise nil.
    package var productionServerName: String?
    /// The path of the root certificate.
    package var ca: String
    /// The path of the management API's Unix socket.
    package var socket: String
    /// How to reach the management API over TCP; nil if TCP is switched off.
    package var management: Management?
    /// The address of the management API over TLS, in the form `host:port`; nil if there is none.
    package var managementTLS: String?
    package var key: DevelopmentKey?
    /// `any` if the service accepts what it does not know; nil otherwise.
    package var accept: String?

    /// The server name for the TLS handshake; nil for the host's own name.
    package func serverName(_ environment: Environment) -> String? {
        environment == .production ? productionServerName : nil
    }

    package func addresses(_ environment: Environment) -> Addresses? {
        switch environment {
        case .development: development
        case .production: production
        }
    }

    /// Reads the description of the service that runs with this folder.
    package static func read(_ folder: DataFolder) throws(ServiceError) -> ServiceDescription {
        guard let description = try readIfPresent(folder) else { throw notRunning(folder) }
        return description
    }

    package static func notRunning(_ folder: DataFolder) -> ServiceError {
        ServiceError(
            .dataFolder, "No service runs on \(folder.path); start one with: carillon serve --data \(folder.path)")
    }

    /// - Returns: nil if the file is missing, because no service runs or because it is still starting.
    package static func readIfPresent(_ folder: DataFolder) throws(ServiceError) -> ServiceDescription? {
        guard let data = FileManager.default.contents(atPath: folder.descriptionFile) else {
            guard !folder.isClosedToThisUser else {
                throw ServiceError(
                    .dataFolder,
                    "The data folder \(folder.path) is another user's: run the command as that user, or set "
                        + "CARILLON_MANAGEMENT_URL and CARILLON_MANAGEMENT_KEY.")
            }
            return nil
        }
        do {
            return try JSONValue.decode(data)
        } catch {
            throw ServiceError(.dataFolder, "\(folder.descriptionFile) cannot be read: \(DataFolder.reason(error)).")
        }
    }

    func write(to folder: DataFolder) throws(ServiceError) {
        do {
            try DataFolder.write(try JSONValue(encoding: self).indentedText() + "\n", to: folder.descriptionFile)
        } catch {
            throw error as? ServiceError ?? ServiceError(.dataFolder, DataFolder.reason(error))
        }
    }
}
