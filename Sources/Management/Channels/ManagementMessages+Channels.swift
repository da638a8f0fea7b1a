extension ManagementMessages {
    package struct NewChannel: Codable, Sendable {
        package var bundleID: String
        /// `development` if it is missing.
        package var environment: String?
        /// 0, which is the default, or 1.
        package var messageStoragePolicy: Int?

        package init(bundleID: String, environment: String? = nil, messageStoragePolicy: Int? = nil) {
            self.bundleID = bundleID
            self.environment = environment
            self.messageStoragePolicy = messageStoragePolicy
        }
    }

    package struct Channel: Codable, Sendable {
        package var channelID: String
        package var bundleID: String
        package var environment: String
        package var messageStoragePolicy: Int
        /// In milliseconds since 1970.
        package var created: UInt64
        /// How many connected devices get what is sent to the channel, at this node.
        package var connectedSubscribers: Int
    }
}
