package import HTTPAPI
package import Notifications

extension ManagementMessages {
    package struct NewChannel: JSONMessage {
        package let bundleID: String
        package let environment: String?
        package let messageStoragePolicy: Int?

        package init(bundleID: String, environment: String? = nil, messageStoragePolicy: Int? = nil) {
            self.bundleID = bundleID
            self.environment = environment
            self.messageStoragePolicy = messageStoragePolicy
        }

        package static let form: JSONForm<NewChannel> = .object(
            "NewChannel", NewChannel.init,
            .required("bundleID", .text(.bundleID), \.bundleID),
            .optional("environment", .text(.environment), \.environment, "development without it."),
            .optional(
                "messageStoragePolicy", .integer(to: 1), \.messageStoragePolicy,
                "0, which it is without it: nothing is kept for devices that are offline. 1: the newest broadcast."))
    }

    /// A broadcast to send, with the values of a provider's request.
    package struct NewBroadcast: JSONMessage {
        package let bundleID: String
        package let channelID: String
        package let payload: JSONValue
        package let id: String?
        package let expiration: Int64?
        package let priority: Int?
        package let pushType: String?

        package static let form: JSONForm<NewBroadcast> = .object(
            "NewBroadcast", NewBroadcast.init,
            .required("bundleID", .text(.any), \.bundleID, "The app of the channel."),
            .required("channelID", .text(.any), \.channelID), .required("payload", .json(.openObject), \.payload),
            .optional("id", .text(.any), \.id, "The value of apns-request-id."),
            .optional("expiration", .integer(), \.expiration), .optional("priority", .integer(to: 255), \.priority),
            .optional(
                "pushType", .text(.any), \.pushType, "It has to be liveactivity, as in a provider's request."))
    }

    package struct Channel: JSONMessage {
        package let channelID: String
        package let bundleID: String
        package let environment: String
        package let messageStoragePolicy: Int
        package let created: UInt64
        package let connectedSubscribers: Int

        package static let form: JSONForm<Channel> = .object(
            "Channel", Channel.init,
            .required("channelID", .text(.channelID), \.channelID), .required("bundleID", .text(.bundleID), \.bundleID),
            .required("environment", .text(.environment), \.environment),
            .required("messageStoragePolicy", .integer(to: 1), \.messageStoragePolicy),
            .required("created", .integer(), \.created),
            .required(
                "connectedSubscribers", .integer(), \.connectedSubscribers,
                "How many connected devices get what is sent to it."))
    }
}
