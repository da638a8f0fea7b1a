package import Notifications

extension ManagementMessages {
    package struct NewChannel: Codable, Sendable {
        package var bundleID: String
        /// The environment; `development` if it is missing.
        package var environment: String?
        /// The storage policy: 0, which is the default, or 1.
        package var messageStoragePolicy: Int?

        package init(bundleID: String, environment: String? = nil, messageStoragePolicy: Int? = nil) {
            self.bundleID = bundleID
            self.environment = environment
            self.messageStoragePolicy = messageStoragePolicy
        }
    }

    /// A broadcast to send, with the values of a provider's request.
    package struct NewBroadcast: Codable, Sendable {
        package var bundleID: String
        package var channelID: String
        package var payload: JSONValue
        /// The `apns-request-id`, a UUID; a new one if it is missing.
        package var id: String?
        package var expiration: Int64?
        package var priority: Int?
        package var pushType: String?
    }

    package struct Channel: Codable, Sendable {
        package var channelID: String
        package var bundleID: String
        package var environment: String
        package var messageStoragePolicy: Int
        /// The time of creation, in milliseconds since 1970.
        package var created: UInt64
        /// The number of devices that are subscribed to the channel and connected to this node.
        package var connectedSubscribers: Int
    }
}
