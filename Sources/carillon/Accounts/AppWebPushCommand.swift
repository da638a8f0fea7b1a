import ArgumentParser
import CommandSupport
import Delivery
import Foundation
import HTTPAPI
import HTTPAPIClient
import Management
import Notifications
import Service

struct AppWebPushCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "web-push", abstract: "What Web Push does with messages to an app's phones.",
        discussion: """
            The phones are behind the app's upstream (carillon app upstream), which gets a notification for each message. The \
            environments are set separately.
            """,
        subcommands: [Set.self, Show.self, Remove.self])

    struct Set: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Set an app's template, and the relay's URL.",
            discussion: """
                A template is the JSON of the notification. In it {"$webPush":"body","as":"base64url"} stands for the body, and \
                so do dh, salt, encoding, subscription, extra and fetch for the other parts; "as" may be z85 too. A body \
                that does not fit into the notification is kept, and fetch is its URL.
                """)

        @OptionGroup var common: CommonOptions
        @OptionGroup var place: AppInEnvironment

        @Option(
            help:
                "A file with the template, or toot-relay for what the public relays send; the usual template without it, and toot-relay with --relay-to."
        )
        var template: String?

        @Flag(
            name: .customLong("relay-to"),
            help: "Take messages at /relay-to/ENVIRONMENT/TOKEN/EXTRA. One app of each environment can have this URL.")
        var relayTo = false

        @Flag(help: "Take messages that are not encrypted, too.")
        var plain = false

        func run() async throws {
            let document = ManagementMessages.NewAppWebPush(
                template: try template.map(Self.template), relayTo: relayTo, plain: plain)
            let set: ManagementMessages.AppWebPush = try await common.management().ask(
                .PUT, place.path(of: "web-push"), document)
            common.output.print(set, set.line)
        }

        private static func template(_ file: String) throws -> JSONValue {
            guard file != WebPushTemplate.tootRelayName else { return WebPushTemplate.tootRelay.document }
            // Not as text, which would take other characters for bytes that are not UTF-8.
            let bytes = Array(try InputFile.read(DataFolder(file).path, "template"))
            do throws(WebPushTemplate.Fault) {
                return try WebPushTemplate(text: bytes).document
            } catch {
                // With an empty pointer the text itself is at fault, and the place does not name the file.
                let detail = error.pointer.isEmpty ? "\(file): \(error.detail)" : error.detail
                throw CommandError(detail, at: error.pointer).inFile(file)
            }
        }
    }

    struct Show: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Show an app's template, and whether it has the relay's URL.")

        @OptionGroup var common: CommonOptions
        @OptionGroup var place: AppInEnvironment

        func run() async throws {
            let settings: ManagementMessages.AppWebPush = try await common.management().ask(
                .GET, place.path(of: "web-push"))
            common.output.print(settings, "\(settings.line)\n\(settings.template.indentedText())")
        }
    }

    struct Remove: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Use the usual template again, and take the relay's URL from the app.")

        @OptionGroup var common: CommonOptions
        @OptionGroup var place: AppInEnvironment

        func run() async throws {
            let removed: ManagementMessages.AppWebPush = try await common.management().ask(
                .DELETE, place.path(of: "web-push"))
            common.output.print(
                removed,
                "\(removed.bundleID) has the usual template again in the \(removed.environment) environment.")
        }
    }
}

extension ManagementMessages.AppWebPush {
    /// The line that a person reads.
    var line: String {
        let name =
            switch template {
            case WebPushTemplate.usual.document: "the usual template"
            case WebPushTemplate.tootRelay.document: "template \(WebPushTemplate.tootRelayName)"
            default: "a template of its own"
            }
        let relay = relayTo ? "  has the relay's URL" : ""
        return "\(bundleID)  \(environment)  \(name)\(relay)\(plain ? "  plain" : "")"
    }
}
