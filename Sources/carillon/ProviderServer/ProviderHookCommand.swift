import ArgumentParser
import CommandSupport
import Foundation
import HTTPAPIClient
import Notifications

struct ProviderHookCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "hook", abstract: "Addresses that receive events about ended installations and messages.",
        subcommands: [Add.self, ProviderListCommand<Item>.self, ProviderDeleteCommand<Item>.self, Log.self])

    enum Item: ProviderItem {
        typealias Scope = ProviderInstallationCommand.Place
        static let path = "/v1/hooks"
        static let kind = "hook"
        static let identifier = (key: "id", value: "id", help: "The hook's identifier.")
        static let abstracts = (list: "List the addresses of an app.", show: "", delete: "Delete an address.")

        static func line(_ hook: JSONValue) -> String { "\(hook["id"] ?? "")  \(hook["url"] ?? "")" }
    }

    struct Add: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Add an address. Prints the secret of its signatures.")

        @OptionGroup var options: ProviderOptions

        @Option(name: .customLong("bundle-id"), help: "The app's bundle ID.")
        var bundleID: String

        @Argument(help: "The address, https://….")
        var url: String

        func run() async throws {
            let document: JSONValue = ["bundleID": .string(bundleID), "url": .string(url)]
            let hook = try await options.client().ask(.POST, "/v1/hooks", document)
            options.output.print(
                hook, "\(hook["id"] ?? "")\nThe secret, which is not shown again: \(hook["secret"] ?? "")")
        }
    }

    struct Log: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Show what was sent to an address, the newest first.")

        @OptionGroup var options: ProviderOptions
        @OptionGroup var place: ProviderInstallationCommand.Place

        @Argument(help: "The hook's identifier.")
        var id: String

        func run() async throws {
            try await options.client().list("/v1/hooks/\(id.percentEncoded)/deliveries" + place.query) { item in
                options.output.print(
                    item,
                    "\(item["createdAt"] ?? "")  \(item["type"] ?? "")  \(item["state"] ?? "")  \(item["cause"] ?? "")")
            }
        }
    }
}
