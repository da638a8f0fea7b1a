import Delivery
import Foundation
import HTTPAPI
import Hummingbird
import Notifications

// Operations for broadcast channels (docs/channels.md).
extension ManagementOperations {
    static let channels = [
        ManagementOperation(
            method: .get, path: "/v1/channels", summary: "The broadcast channels of an app in one environment",
            parameters: channelParameters + .list(after: "channel ID", .channelID),
            answer: .json(.array(ManagementMessages.Channel.schema)), problems: [409]
        ) { api, call in
            try await api.channels(call)
        },
        ManagementOperation(
            method: .post, path: "/v1/channels", summary: "Make a broadcast channel of an app",
            body: Body(reading: ManagementMessages.NewChannel.schema), answer: .json(ManagementMessages.Channel.schema),
            problems: [409, 413, 415]
        ) { api, call in
            .json(try await api.createChannel(call.message()))
        },
        ManagementOperation(
            method: .get, path: "/v1/channels/{channelID}", summary: "One broadcast channel",
            parameters: [.path("channelID", .channelID, "The channel's ID.")] + channelParameters,
            answer: .json(ManagementMessages.Channel.schema), problems: [404, 409]
        ) { api, call in
            .json(try await api.channel(call))
        },
        ManagementOperation(
            method: .delete, path: "/v1/channels/{channelID}",
            summary: "Delete a broadcast channel with its stored broadcast and its subscriptions",
            parameters: [.path("channelID", .channelID, "The channel's ID.")] + channelParameters,
            answer: .json(ManagementMessages.Channel.schema), problems: [404, 409]
        ) { api, call in
            .json(try await api.deleteChannel(call))
        },
    ]

    static let broadcasts = [
        ManagementOperation(
            method: .post, path: "/v1/broadcasts",
            summary: "Send to a broadcast channel by the provider API's rules, without provider trust",
            parameters: [
                .query(
                    "dryRun", .boolean,
                    "Whether the broadcast is only checked, also by the rules of strict, and not sent.")
            ],
            body: Body(reading: ManagementMessages.NewBroadcast.schema),
            answer: .json(ManagementMessages.NotificationSent.schema), problems: [413, 415]
        ) { api, call in
            let isChecked = call.isOn("dryRun")
            return .json(
                isChecked
                    ? try await api.check(broadcast: call.message()) : try await api.send(broadcast: call.message()))
        }
    ]

    /// The parameters that identify the owner of a channel. A channel's ID does not reveal its app and its environment.
    private static let channelParameters: [Parameter] = [
        .query("bundleID", .string(.bundleID), "The app of the channels.", isRequired: true),
        .query(
            "environment", .string(.environment), "The environment of the channels; development if it is not given."),
    ]
}

extension TextFormat {
    static let channelID = TextFormat(
        "a channel ID: 4 to \(ChannelID.maximumCount) characters of base64",
        pattern: "^(?:[A-Za-z0-9+/]{4}){0,15}(?:[A-Za-z0-9+/]{4}|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{2}==)$"
    ) { ChannelID(rawValue: $0) != nil }
}

extension ManagementAPI {
    fileprivate func channels(_ call: ManagementCall) async throws -> Response {
        let (app, list) = try channelList(call)
        let after = call.query("after").flatMap(ChannelID.init(rawValue:))
        let channels = try await carryingOut { broadcasts async throws(Rejection) in
            // fits: at most APILimits.listItems
            try await broadcasts.channels(of: list, after: after, limit: call.limit + 1)
        }
        return ListPage.answer(channels.map { message($0, of: app) }, name: \.channelID, call)
    }

    fileprivate func createChannel(
        _ request: ManagementMessages.NewChannel
    ) async throws -> ManagementMessages.Channel {
        let environment = try request.environment.map(environment) ?? .development
        let (app, list) = try channelList(of: request.bundleID, in: environment)
        guard let policy = UInt8(exactly: request.messageStoragePolicy ?? 0).flatMap(MessageStoragePolicy.init) else {
            throw Problem.invalid("/messageStoragePolicy", "The value has to be 0 or 1.")
        }
        let channel = try await carryingOut { broadcasts async throws(Rejection) in
            try await broadcasts.create(policy, in: list)
        }
        return message(channel, of: app)
    }

    fileprivate func channel(_ call: ManagementCall) async throws -> ManagementMessages.Channel {
        let (app, key) = try channelKey(call)
        let channel = try await carryingOut { broadcasts async throws(Rejection) in try await broadcasts.channel(key) }
        return message(channel, of: app)
    }

    fileprivate func deleteChannel(_ call: ManagementCall) async throws -> ManagementMessages.Channel {
        let (app, key) = try channelKey(call)
        let channel = try await carryingOut { broadcasts async throws(Rejection) in try await broadcasts.channel(key) }
        let deleted = message(channel, of: app)
        try await carryingOut { broadcasts async throws(Rejection) in try await broadcasts.remove(key) }
        return deleted
    }

    // MARK: Names

    private func channelKey(_ call: ManagementCall) throws -> (App, ChannelKey) {
        let name = try call.parameter("channelID")
        guard let id = ChannelID(rawValue: name) else {
            throw Problem(400, "\(name.debugDescription) has to be \(TextFormat.channelID.name).")
        }
        let (app, list) = try channelList(call)
        return (app, ChannelKey(list: list, id: id))
    }

    private func channelList(_ call: ManagementCall) throws -> (App, ChannelList) {
        guard let name = call.query("bundleID") else {
            throw Problem(400, "The query needs bundleID: a channel belongs to one app.")
        }
        return try channelList(of: name, in: call.query("environment").map(environment) ?? .development)
    }

    private func channelList(of name: String, in environment: Notifications.Environment) throws -> (App, ChannelList) {
        let bundleID = try bundleID(name)
        let app = try present(accounts.current.apps[bundleID], "app", bundleID)
        return (app, ChannelList(environment: environment, app: app.id))
    }

    // MARK: Answers

    private func message(_ channel: BroadcastChannel, of app: App) -> ManagementMessages.Channel {
        ManagementMessages.Channel(
            channelID: channel.key.id.rawValue, bundleID: app.bundleID.rawValue,
            // fits: a byte
            environment: channel.key.list.environment.rawValue, messageStoragePolicy: Int(channel.policy.rawValue),
            created: channel.created.milliseconds,
            connectedSubscribers: parts.broadcasts.connectedSubscribers(of: channel.key))
    }

    func carryingOut<Value>(
        _ work: (Broadcasts) async throws(Rejection) -> Value
    ) async throws(Problem) -> Value {
        try await Problem.ofChannels { () async throws(Rejection) in try await work(parts.broadcasts) }
    }
}

extension Problem {
    /// Explains why something about channels was refused.
    static func ofChannels<Value>(
        _ work: () async throws(Rejection) -> Value
    ) async throws(Problem) -> Value {
        do throws(Rejection) {
            return try await work()
        } catch {
            let status =
                switch error.reason {
                case .channelNotRegistered: 404
                case .cannotCreateChannelConfig, .featureNotEnabled: 409
                default: error.reason.status
                }
            throw Problem(status, error.detail ?? error.reason.rawValue)
        }
    }
}
