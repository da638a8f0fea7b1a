import ArgumentParser
import CommandSupport
import Foundation
import HTTPAPIClient
import Management
import Notifications
import Service

struct ChannelCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "channel", abstract: "Broadcast channels, which devices subscribe to.",
        subcommands: [Create.self, Read.self, ListChannels.self, Delete.self])

    /// The options that name an app's channels.
    struct Owner: ParsableArguments {
        @OptionGroup var common: CommonOptions

        @Option(name: .customLong("bundle-id"), help: "The app's bundle ID.")
        var bundleID: String

        @Option(help: "development or production.")
        var environment = Environment.development

        /// The app and the environment as the parameters of a query.
        var query: String { "bundleID=\(bundleID.percentEncoded)&environment=\(environment.rawValue)" }

        func path(of channel: String) throws -> String {
            try itemPath("/v1/channels", channel, "The channel's ID") + "?" + query
        }

        func print(_ channel: ManagementMessages.Channel, _ line: String? = nil) {
            common.output.print(channel, line ?? channel.line)
        }
    }

    struct Create: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Make a broadcast channel of an app.")

        @OptionGroup var owner: Owner

        @Option(
            name: .customLong("message-storage-policy"),
            help: "0: the channel stores nothing for devices that are offline. 1: it stores its newest broadcast.")
        var policy = 0

        func run() async throws {
            let made: ManagementMessages.Channel = try await owner.common.management().ask(
                .POST, "/v1/channels",
                ManagementMessages.NewChannel(
                    bundleID: owner.bundleID, environment: owner.environment.rawValue, messageStoragePolicy: policy))
            owner.print(made, "Made the channel \(made.channelID).")
        }
    }

    struct Read: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Show a broadcast channel.")

        @OptionGroup var owner: Owner

        @Argument(help: ArgumentHelp("The channel's ID.", valueName: "channel-id"))
        var channel: String

        func run() async throws {
            owner.print(try await owner.common.management().ask(.GET, owner.path(of: channel)))
        }
    }

    struct ListChannels: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "list", abstract: "List all broadcast channels of an app.")

        @OptionGroup var owner: Owner

        func run() async throws {
            let channels: [ManagementMessages.Channel] = try await owner.common.management().list(
                "/v1/channels?\(owner.query)", name: \.channelID)
            for channel in channels { owner.print(channel) }
        }
    }

    struct Delete: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Delete a broadcast channel at once, with its stored broadcast and its subscriptions.")

        @OptionGroup var owner: Owner

        @Argument(help: ArgumentHelp("The channel's ID.", valueName: "channel-id"))
        var channel: String

        func run() async throws {
            let deleted: ManagementMessages.Channel = try await owner.common.management().ask(
                .DELETE, owner.path(of: channel))
            owner.print(deleted, "Deleted the channel \(deleted.channelID).")
        }
    }
}

extension ManagementMessages.Channel {
    fileprivate var line: String {
        let kept = messageStoragePolicy == 1 ? "keeps the newest broadcast" : "keeps nothing"
        return
            "\(channelID)  \(kept)  \(connectedSubscribers) connected subscribers  made \(dateText(milliseconds: created))"
    }
}
