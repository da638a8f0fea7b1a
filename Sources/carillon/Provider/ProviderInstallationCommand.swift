import ArgumentParser
import Foundation
import NIOHTTP1
import Notifications

struct ProviderInstallationCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "installation", abstract: "The installations of apps: one for each app on each device.",
        subcommands: [List.self, Show.self, Put.self, Delete.self, Import.self, Export.self])

    private static func line(_ item: JSONValue) -> String {
        var parts = [item["id"] ?? "", item["environment"] ?? ""]
        if let user = item["user"] { parts.append("user \(user)") }
        if case .object(let members) = item, case .array(let tags)? = members["tags"], !tags.isEmpty {
            parts.append(
                "tags " + tags.map { if case .string(let tag) = $0 { tag } else { "" } }.joined(separator: ", "))
        }
        if case .object(let members) = item, let end = members["ended"] {
            parts.append("ended \(end["at"] ?? ""): \(end["reason"] ?? "")")
        }
        return parts.joined(separator: "  ")
    }

    /// The options that identify an app and one of its installations.
    struct Place: ParsableArguments {
        @Option(name: .customLong("bundle-id"), help: "The app's bundle ID.")
        var bundleID: String

        var query: String { "?bundleID=\(escaped(bundleID))" }
    }

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "List all installations of an app.")

        @OptionGroup var options: ProviderOptions
        @OptionGroup var place: Place

        func run() async throws {
            try await options.client().list("/v1/installations" + place.query) { item in
                options.output.print(item, ProviderInstallationCommand.line(item))
            }
        }
    }

    struct Show: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Show an installation.")

        @OptionGroup var options: ProviderOptions
        @OptionGroup var place: Place

        @Argument(help: "The installation's identifier.")
        var id: String

        func run() async throws {
            let item = try await options.client().ask(.GET, "/v1/installations/\(escaped(id))" + place.query)
            options.output.print(item, ProviderInstallationCommand.line(item))
        }
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

        func run() async throws {
            var members: [String: JSONValue] = [
                "deviceToken": .string(token), "environment": .string(environment.rawValue),
                "tags": .array(tag.map(JSONValue.string)), "languages": .array(language.map(JSONValue.string)),
            ]
            members["user"] = user.map(JSONValue.string)
            members["timeZone"] = timeZone.map(JSONValue.string)
            let item = try await options.client().ask(
                .PUT, "/v1/installations/\(escaped(id))" + place.query, Array(JSONValue.object(members).text.utf8))
            options.output.print(item, ProviderInstallationCommand.line(item))
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
            let type = file.hasSuffix(".csv") ? "text/csv" : "application/x-ndjson"
            let report = try await options.client().upload(
                "/v1/installations/import" + place.query, file: file, contentType: type)
            var lines = ["Imported \(report.number("imported")), \(report.number("bad")) bad lines."]
            if case .object(let members) = report, case .array(let bad)? = members["badLines"] {
                lines += bad.map { "\(file):\($0.number("line")): \($0["detail"] ?? "") \($0["pointer"] ?? "")" }
            }
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
                "/v1/installations" + place.query, accept: csv ? "text/csv" : "application/x-ndjson")
        }
    }

    struct Delete: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Delete an installation. This cannot be undone.")

        @OptionGroup var options: ProviderOptions
        @OptionGroup var place: Place

        @Argument(help: "The installation's identifier.")
        var id: String

        func run() async throws {
            _ = try await options.client().ask(.DELETE, "/v1/installations/\(escaped(id))" + place.query)
            options.output.print(["id": id], "Deleted the installation \(id).")
        }
    }
}
