import ArgumentParser
import CommandSupport
import Foundation
import HTTPAPIClient
import Notifications

struct ProviderChannelCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "channel", abstract: "Broadcast channels, which the devices of an app subscribe to.",
        discussion: "Send a broadcast with carillon provider message send and {\"audience\": {\"channel\": …}}.",
        subcommands: [Create.self, ProviderListCommand<Item>.self, ProviderDeleteCommand<Item>.self])

    /// The options that name an app's channels.
    struct Place: ProviderScope {
        @Option(name: .customLong("bundle-id"), help: "The app's bundle ID.")
        var bundleID: String

        @Option(help: "development or production.")
        var environment = Environment.production

        var query: String { "?bundleID=\(bundleID.percentEncoded)&environment=\(environment.rawValue)" }
    }

    enum Item: ProviderItem {
        static let path = "/v1/channels"
        static let kind = "channel"
        static let identifier = (key: "id", value: "channel-id", help: "The channel's ID.")
        static let abstracts = (
            list: "List the broadcast channels of an app, as the push service has them.", show: "",
            delete: "Delete a broadcast channel at once, with its subscriptions."
        )

        typealias Scope = Place

        static func line(_ item: JSONValue) -> String {
            [item["id"], item["environment"], item["keeps"].map { "keeps \($0)" }].compactMap(\.self)
                .joined(separator: "  ")
        }
    }

    struct Create: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Make a broadcast channel of an app.")

        @OptionGroup var options: ProviderOptions
        @OptionGroup var place: Place

        @Option(help: "What the channel stores for devices that are offline.")
        var keeps = Kept.newest

        func run() async throws {
            let made = try await options.client().ask(
                .POST, "/v1/channels",
                [
                    "bundleID": .string(place.bundleID), "environment": .string(place.environment.rawValue),
                    "keeps": .string(keeps.rawValue),
                ])
            options.output.print(made, "Made the channel \(made["id"] ?? "").")
        }
    }

    enum Kept: String, ExpressibleByArgument, CaseIterable {
        case newest
        case nothing
    }
}
