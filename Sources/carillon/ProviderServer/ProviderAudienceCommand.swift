import ArgumentParser
import CommandSupport
import Foundation
import HTTPAPIClient
import Notifications

struct ProviderAudienceCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "audience", abstract: "Saved audiences, which messages refer to by their names.",
        subcommands: [
            Put.self, ProviderListCommand<Item>.self, ProviderShowCommand<Item>.self, ProviderDeleteCommand<Item>.self,
        ])

    enum Item: ProviderItem {
        typealias Scope = ProviderInstallationCommand.Place
        static let path = "/v1/audiences"
        static let kind = "audience"
        static let identifier = (key: "name", value: "name", help: "The audience's name.")
        static let abstracts = (
            list: "List the saved audiences of an app.",
            show: "Show a saved audience, and how many recipients it has now.",
            delete: "Delete a saved audience. Messages that were accepted are sent all the same."
        )

        static func line(_ item: JSONValue) -> String {
            var parts = [item["name"] ?? "", item.members["audience"]?.text ?? ""]
            if item.members["recipients"] != nil { parts.append("\(item.number("recipients")) recipients") }
            return parts.joined(separator: "  ")
        }
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

        @Option(help: "An expression of properties, such as 'appVersion >= 2.1 and not language = sv'.")
        var `where`: String?

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
            members["where"] = `where`.map(JSONValue.string)
            members["language"] = language.map(JSONValue.string)
            members["environment"] = environment.map { .string($0.rawValue) }
            if !user.isEmpty { members["users"] = .array(user.map(JSONValue.string)) }
            if !installation.isEmpty { members["installations"] = .array(installation.map(JSONValue.string)) }
            if everybody { members["everybody"] = true }
            let item = try await options.client().ask(
                .PUT, "/v1/audiences/\(name.percentEncoded)" + place.query, .object(members))
            options.output.print(item, Item.line(item))
        }
    }
}
