import ArgumentParser
import Foundation
import NIOHTTP1
import Notifications

struct ProviderHookCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "hook", abstract: "Addresses that receive events about ended installations and messages.",
        subcommands: [Add.self, List.self, Delete.self, Log.self])

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
            let hook = try await options.client().ask(.POST, "/v1/hooks", Array(document.text.utf8))
            options.output.print(
                hook, "\(hook["id"] ?? "")\nThe secret, which is not shown again: \(hook["secret"] ?? "")")
        }
    }

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "List the addresses of an app.")

        @OptionGroup var options: ProviderOptions
        @OptionGroup var place: ProviderInstallationCommand.Place

        func run() async throws {
            try await options.client().list("/v1/hooks" + place.query) { hook in
                options.output.print(hook, "\(hook["id"] ?? "")  \(hook["url"] ?? "")")
            }
        }
    }

    struct Delete: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Delete an address.")

        @OptionGroup var options: ProviderOptions
        @OptionGroup var place: ProviderInstallationCommand.Place

        @Argument(help: "The hook's identifier.")
        var id: String

        func run() async throws {
            _ = try await options.client().ask(.DELETE, "/v1/hooks/\(escaped(id))" + place.query)
            options.output.print(["id": id], "Deleted the hook \(id).")
        }
    }

    struct Log: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Show what was sent to an address, the newest first.")

        @OptionGroup var options: ProviderOptions
        @OptionGroup var place: ProviderInstallationCommand.Place

        @Argument(help: "The hook's identifier.")
        var id: String

        func run() async throws {
            try await options.client().list("/v1/hooks/\(escaped(id))/deliveries" + place.query) { item in
                options.output.print(
                    item,
                    "\(item["createdAt"] ?? "")  \(item["type"] ?? "")  \(item["state"] ?? "")  \(item["cause"] ?? "")")
            }
        }
    }
}
