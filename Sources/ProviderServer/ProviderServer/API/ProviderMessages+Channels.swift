import HTTPAPI
import Notifications

extension ProviderMessages {
    /// A channel to make.
    struct ChannelRequest: JSONMessage {
        let bundleID: String?
        let environment: Environment?
        let keeps: String?

        static let form: JSONForm<ChannelRequest> = .object(
            "ChannelRequest", ChannelRequest.init, .bundleID(\.bundleID),
            .optional("environment", .environment, \.environment, "production, if it is missing."),
            .optional(
                "keeps", .text(.oneOf(["newest", "nothing"])), \.keeps,
                "What the channel stores for devices that are offline; newest, if it is missing."))
    }

    struct Channel: JSONMessage {
        let id: String
        let environment: String
        let keeps: String?

        static let form: JSONForm<Channel> = .object(
            "Channel", Channel.init,
            .required("id", .text(.any), \.id), .required("environment", .text(.any), \.environment),
            .optional("keeps", .text(.any), \.keeps, "Only the answer that makes the channel has it."))
    }
}
