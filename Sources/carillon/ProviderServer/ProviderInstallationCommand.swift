import ArgumentParser
import CommandSupport
import Foundation
import HTTPAPIClient
import Notifications
import ProviderServer

struct ProviderInstallationCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "installation", abstract: "The installations of apps: one for each app on each device.",
        subcommands: [
            ProviderListCommand<Item>.self, ProviderShowCommand<Item>.self, Put.self, Patch.self,
            ProviderDeleteCommand<Item>.self, Import.self, Export.self,
        ])

    enum Item: ProviderItem {
        typealias Scope = Place
        typealias ListScope = Filter
        static let path = "/v1/installations"
        static let kind = "installation"
        static let identifier = (key: "id", value: "id", help: "The installation's identifier.")
        static let abstracts = (
            list: "List all installations of an app, or those of a user, also ended ones.",
            show: "Show an installation.", delete: "Delete an installation. This cannot be undone."
        )

        static func line(_ item: JSONValue) -> String {
            var parts = [item["id"] ?? "", item["environment"] ?? ""]
            if let user = item["user"] { parts.append("user \(user)") }
            let tags = item.members["tags"]?.elements ?? []
            if !tags.isEmpty { parts.append("tags " + tags.map { $0.string ?? "" }.joined(separator: ", ")) }
            if let end = item.members["ended"] {
                parts.append("ended \(end["at"] ?? ""): \(end["reason"] ?? "")")
            }
            return parts.joined(separator: "  ")
        }
    }

    /// The options that identify an app and one of its installations.
    struct Place: ProviderScope {
        @Option(name: .customLong("bundle-id"), help: "The app's bundle ID.")
        var bundleID: String

        var query: String { "?bundleID=\(bundleID.percentEncoded)" }
    }

    /// The installations to list.
    struct Filter: ProviderScope {
        @OptionGroup var place: Place

        @Option(help: "Only the installations of this user.")
        var user: String?

        var query: String { place.query + (user.map { "&user=\($0.percentEncoded)" } ?? "") }
    }

    struct Put: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Register an installation, or replace what is known of it.")

        @OptionGroup var options: ProviderOptions
        @OptionGroup var place: Place

        @Argument(help: "The installation's identifier.")
        var id: String

        @Option(name: .customLong("token"), help: "The device token, hexadecimal digits.")
        var token: String

        @Option(help: "development or production.")
        var environment = Environment.production

        @Option(help: "The user.")
        var user: String?

        @Option(help: "A tag; repeatable.")
        var tag: [String] = []

        @Option(help: "A language of the user, the preferred one first; repeatable.")
        var language: [String] = []

        @Option(name: .customLong("time-zone"), help: "The time zone, such as Europe/Stockholm.")
        var timeZone: String?

        @Option(name: .customLong("app-version"), help: "The app's version.")
        var appVersion: String?

        @Option(
            name: .customLong("service-token"),
            help: ArgumentHelp(
                "The device token of a service of the app, such as voip or liveactivity; repeatable.",
                valueName: "service=token"))
        var serviceToken: [String] = []

        @Option(
            help: ArgumentHelp(
                "The device token of a Live Activity that runs; repeatable.", valueName: "name=token"))
        var activity: [String] = []

        @Option(help: "The number on the app's icon, from which the badge of a message counts.")
        var badge: Int64?

        @Option(
            help: ArgumentHelp(
                "A value for templates; repeatable. A number, true and false are not texts, unless they are in double quotes.",
                valueName: "name=value"))
        var value: [String] = []

        func run() async throws {
            var members: JSONMembers = [
                "deviceToken": .string(token), "environment": .string(environment.rawValue),
                "tags": .array(tag.map(JSONValue.string)), "languages": .array(language.map(JSONValue.string)),
            ]
            members["user"] = user.map(JSONValue.string)
            members["timeZone"] = timeZone.map(JSONValue.string)
            members["appVersion"] = appVersion.map(JSONValue.string)
            members["badge"] = badge.map(JSONValue.integer)
            if !value.isEmpty { members["values"] = .object(try values()) }
            if !serviceToken.isEmpty { members["tokens"] = try Self.tokens(serviceToken, of: "service-token") }
            if !activity.isEmpty { members["activities"] = try Self.tokens(activity, of: "activity") }
            let item = try await options.client().ask(
                .PUT, "/v1/installations/\(id.percentEncoded)" + place.query, .object(members))
            options.output.print(item, Item.line(item))
        }

        private static func pair(_ text: String, of option: String) throws -> (name: String, value: String) {
            guard let equals = text.firstIndex(of: "=") else {
                throw ValidationError("\(text) is not name=value, as --\(option) takes it.")
            }
            return (String(text[..<equals]), String(text[text.index(after: equals)...]))
        }

        private static func tokens(_ texts: [String], of option: String) throws -> JSONValue {
            var tokens = JSONMembers()
            for text in texts {
                let (name, token) = try pair(text, of: option)
                tokens[name] = .string(token)
            }
            return .object(tokens)
        }

        private func values() throws -> JSONMembers {
            var values = JSONMembers()
            for text in value {
                let (name, plain) = try Self.pair(text, of: "value")
                let read = JSONValue(any: Array(plain.utf8)) ?? .null
                values[name] =
                    switch read {
                    case .string, .integer, .number, .bool: read
                    case .null, .array, .object: .string(plain)
                    }
            }
            return values
        }
    }

    struct Patch: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Change some of what is known of an installation, by a JSON Merge Patch.",
            discussion:
                "What the patch does not name stays, and null removes a member: {\"user\":\"anna\",\"timeZone\":null}")

        @OptionGroup var options: ProviderOptions
        @OptionGroup var place: Place

        @Argument(help: "The installation's identifier.")
        var id: String

        @Argument(help: "The file with the patch, or - for standard input.")
        var file: String

        func run() async throws {
            let item = try await JSONFile(path: file).send("patch") {
                try await options.client().ask(.PATCH, "/v1/installations/\(id.percentEncoded)" + place.query, $0)
            }
            options.output.print(item, Item.line(item))
        }
    }

    struct Import: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Register the installations in a file: CSV with a header, or a JSON object on each line.",
            discussion: "A bad line is reported and left out; then the exit status is 1.")

        @OptionGroup var options: ProviderOptions
        @OptionGroup var place: Place

        @Argument(help: "The file; its name ends in .csv for CSV.")
        var file: String

        func run() async throws {
            let report = try await options.client().upload(
                "/v1/installations/import" + place.query, file: file,
                contentType: ListForm(ofFile: file).rawValue)
            var lines = ["Imported \(report.number("imported")), \(report.number("bad")) bad lines."]
            lines += (report.members["badLines"]?.elements ?? [])
                .map { "\(file):\($0.number("line")): \($0["detail"] ?? "") \($0["pointer"] ?? "")" }
            options.output.print(report, lines.joined(separator: "\n"))
            if report.number("bad") != "0" { throw ExitCode.failure }
        }
    }

    struct Export: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Write all installations of an app to standard output.")

        @OptionGroup var options: ProviderOptions
        @OptionGroup var place: Place

        @Flag(help: "CSV instead of a JSON object on each line.")
        var csv = false

        func run() async throws {
            try await options.client().download(
                "/v1/installations" + place.query, accept: (csv ? ListForm.csv : .lines).rawValue)
        }
    }
}
