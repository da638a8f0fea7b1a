import ArgumentParser
import Foundation
import NIOHTTP1
import Notifications

struct ProviderAudienceCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "audience", abstract: "Saved audiences, which messages refer to by their names.",
        subcommands: [Put.self, List.self, Show.self, Delete.self])

    /// Describes an audience in one line for a person.
    private static func line(_ item: JSONValue) -> String {
        var parts = [item["name"] ?? ""]
        if case .object(let members) = item {
            parts.append(members["audience"]?.text ?? "")
            if members["recipients"] != nil { parts.append("\(item.number("recipients")) recipients") }
        }
        return parts.joined(separator: "  ")
    }

    struct Put: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Save an audience, or replace the one with this name. Prints how many recipients it has now.",
            discussion: "A recipient has to meet all conditions. Accepted messages do not change.")

        @OptionGroup var options: ProviderOptions
        @OptionGroup var place: ProviderInstallationCommand.Place

        @Argument(help: "The audience's name.")
        var name: String

        @Option(help: "An expression of tags, such as '(news && sv) && !muted'.")
        var tags: String?

        @Option(help: "The first language of the installations, such as sv.")
        var language: String?

        @Option(help: "development or production; both by default.")
        var environment: Environment?

        @Option(help: "A user; repeatable.")
        var user: [String] = []

        @Option(help: "An installation; repeatable.")
        var installation: [String] = []

        @Flag(help: "All installations of the app.")
        var everybody = false

        func run() async throws {
            var members: [String: JSONValue] = [:]
            members["tags"] = tags.map(JSONValue.string)
            members["language"] = language.map(JSONValue.string)
            members["environment"] = environment.map { .string($0.rawValue) }
            if !user.isEmpty { members["users"] = .array(user.map(JSONValue.string)) }
            if !installation.isEmpty { members["installations"] = .array(installation.map(JSONValue.string)) }
            if everybody { members["everybody"] = true }
            let item = try await options.client().ask(
                .PUT, "/v1/audiences/\(escaped(name))" + place.query, Array(JSONValue.object(members).text.utf8))
            options.output.print(item, ProviderAudienceCommand.line(item))
        }
    }

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "List the saved audiences of an app.")

        @OptionGroup var options: ProviderOptions
        @OptionGroup var place: ProviderInstallationCommand.Place

        func run() async throws {
            try await options.client().list("/v1/audiences" + place.query) { item in
                options.output.print(item, ProviderAudienceCommand.line(item))
            }
        }
    }

    struct Show: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Show a saved audience, and how many recipients it has now.")

        @OptionGroup var options: ProviderOptions
        @OptionGroup var place: ProviderInstallationCommand.Place

        @Argument(help: "The audience's name.")
        var name: String

        func run() async throws {
            let item = try await options.client().ask(.GET, "/v1/audiences/\(escaped(name))" + place.query)
            options.output.print(item, ProviderAudienceCommand.line(item))
        }
    }

    struct Delete: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Delete a saved audience. Messages that were accepted are sent all the same.")

        @OptionGroup var options: ProviderOptions
        @OptionGroup var place: ProviderInstallationCommand.Place

        @Argument(help: "The audience's name.")
        var name: String

        func run() async throws {
            _ = try await options.client().ask(.DELETE, "/v1/audiences/\(escaped(name))" + place.query)
            options.output.print(["name": name], "Deleted the audience \(name).")
        }
    }
}
