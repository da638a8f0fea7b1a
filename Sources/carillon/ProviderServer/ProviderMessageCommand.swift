import ArgumentParser
import CommandSupport
import Foundation
import HTTPAPIClient
import NIOHTTP1
import Notifications
import ProviderServer

struct ProviderMessageCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "message", abstract: "Messages to the installations of an app.",
        subcommands: [
            Send.self, ProviderListCommand<Item>.self, Show.self, Change<Pause>.self, Change<Resume>.self,
            Change<Cancel>.self, Rate.self, Outcomes.self, ProviderDeleteCommand<Item>.self,
        ])

    enum Item: ProviderItem {
        typealias Scope = AnyApp
        typealias ListScope = Filter
        static let path = "/v1/messages"
        static let kind = "message"
        static let identifier = (key: "id", value: "id", help: "The message's identifier.")
        static let abstracts = (
            list: "List all messages, the newest first.", show: "",
            delete: "Delete a message that has ended, with its outcomes. This cannot be undone."
        )

        static func line(_ message: JSONValue) -> String {
            var line =
                "\(message["id"] ?? "")  \(message["bundleID"] ?? "")  \(message["state"] ?? "")  "
                + "accepted \(message.number("accepted"))  failed \(message.number("failed"))"
            if message.count("total") > 0 { line += "  total \(message.number("total"))" }
            if message.count("opened") > 0 { line += "  opened \(message.number("opened"))" }
            if let cause = message["cause"] { line += "  \(cause)" }
            return line
        }
    }

    struct Send: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Send the message in a JSON file, which docs/provider-server.md describes.")

        @OptionGroup var options: ProviderOptions

        @Argument(help: "The file, or - for standard input.")
        var file: String

        @Flag(help: "Only say how many would get it, and what the first ten would get.")
        var dryRun = false

        @Option(
            name: .customLong("idempotency-key"),
            help: "Your name for this message. Sending again with the same name makes no second message.")
        var idempotencyKey: String?

        @Option(
            help: ArgumentHelp(
                "Wait this long for the end of the message, and print the first outcomes: up to \(ProviderServerLimits.waitSeconds).",
                valueName: "seconds"))
        var wait: Int?

        func validate() throws {
            let longest = ProviderServerLimits.waitSeconds
            guard (1...longest).contains(wait ?? 1) else {
                throw ValidationError("--wait takes 1 to \(longest) seconds.")
            }
        }

        func run() async throws {
            let path = "/v1/messages" + (wait.map { "?wait=PT\($0)S" } ?? "")
            let headers: HTTPHeaders = idempotencyKey.map { ["idempotency-key": $0] } ?? [:]
            let answer = try await JSONFile(path: file).send("message") { document in
                var document = document
                if dryRun, case .object(var members) = document {
                    members["dryRun"] = true
                    document = .object(members)
                }
                return try await options.client().ask(.POST, path, document, headers: headers)
            }
            let isRun = answer["id"] != nil
            options.output.print(
                answer,
                isRun
                    ? ([Item.line(answer)] + outcomes(answer)).joined(separator: "\n")
                    : "\(answer.number("recipients")) would get it:\n\(answer.text)")
        }

        /// A line for each of the outcomes in an answer that waited for them.
        private func outcomes(_ answer: JSONValue) -> [String] {
            (answer.members["outcomes"]?.elements ?? [])
                .map { "  \($0["installation"] ?? "")  \($0["reason"] ?? "accepted")" }
        }
    }

    /// The messages to list.
    struct Filter: ProviderScope {
        @Option(name: .customLong("bundle-id"), help: "Only the messages of this app.")
        var bundleID: String?

        var query: String { bundleID.map { "?bundleID=\($0.percentEncoded)" } ?? "" }
    }

    /// The message that a command is about.
    struct Choice: ParsableArguments {
        @OptionGroup var options: ProviderOptions

        @Argument(help: "The message's identifier.")
        var id: String

        var path: String { "\(Item.path)/\(id.percentEncoded)" }
    }

    struct Show: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Show how far a message has been sent, and why how many have failed.")

        @OptionGroup var choice: Choice

        @Flag(help: "Wait until the message has ended or is paused, and show its progress.")
        var follow = false

        /// The time between two requests for the progress.
        private static let interval = Duration.milliseconds(500)

        func run() async throws {
            let client = try choice.options.client()
            var message = try await client.ask(.GET, choice.path)
            if follow {
                let bar = ProgressBar(isQuiet: choice.options.json)
                defer { bar.end() }
                while ["scheduled", "running"].contains(message["state"]) {
                    let done = message.count("accepted") + message.count("failed")
                    bar.show(message["cause"] ?? message["state"] ?? "", done, of: max(done, message.count("total")))
                    try await Task.sleep(for: Self.interval)
                    message = try await client.ask(.GET, choice.path)
                }
            }
            let reasons = message.members["failedByReason"]?.members.keys.sorted() ?? []
            let counts = reasons.map { "\n  \($0)  \(message.members["failedByReason"]?.number($0) ?? "")" }
            choice.options.output.print(message, Item.line(message) + counts.joined())
        }
    }

    struct Rate: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Change how fast a message is sent.")

        @OptionGroup var choice: Choice

        @Option(help: "The largest number of notifications a second; without it there is no limit.")
        var rate: Int64?

        func run() async throws {
            let document: JSONValue = ["rate": rate.map(JSONValue.integer) ?? .null]
            let message = try await choice.options.client().ask(.PATCH, choice.path, document)
            choice.options.output.print(message, Item.line(message))
        }
    }

    struct Outcomes: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "List the outcome of a message for each recipient.")

        @OptionGroup var choice: Choice

        @Option(help: "Only those that failed for this reason.")
        var reason: String?

        @Option(help: "accepted or failed; both by default.")
        var outcome: String?

        @Flag(help: "All of them as CSV.")
        var csv = false

        func validate() throws {
            guard reason == nil || outcome == nil else {
                throw ValidationError("Give --reason or --outcome, not both.")
            }
        }

        func run() async throws {
            let query =
                reason.map { "?reason=\($0.percentEncoded)" } ?? outcome.map { "?outcome=\($0.percentEncoded)" } ?? ""
            let path = choice.path + "/outcomes" + query
            guard !csv else { return try await choice.options.client().download(path, accept: ListForm.csv.rawValue) }
            try await choice.options.client().list(path) { item in
                choice.options.output.print(
                    item,
                    "\(item["installation"] ?? "(deleted)")  \(item["apnsID"] ?? "")  \(item["reason"] ?? "accepted")")
            }
        }
    }

    // MARK: Pause, resume, cancel

    struct Change<Kind: MessageChangeKind>: AsyncParsableCommand {
        static var configuration: CommandConfiguration {
            CommandConfiguration(commandName: Kind.name, abstract: Kind.abstract)
        }

        @OptionGroup var choice: Choice

        func run() async throws {
            let message = try await choice.options.client().ask(.POST, "\(choice.path)/\(Kind.name)")
            choice.options.output.print(message, Item.line(message))
        }
    }

    enum Pause: MessageChangeKind {
        static let name = "pause"
        static let abstract = "Stop sending a message for a while."
    }

    enum Resume: MessageChangeKind {
        static let name = "resume"
        static let abstract = "Go on sending a paused message."
    }

    enum Cancel: MessageChangeKind {
        static let name = "cancel"
        static let abstract = "Stop sending a message for ever."
    }
}

/// A change that a command makes to a message.
protocol MessageChangeKind: Sendable {
    static var name: String { get }
    static var abstract: String { get }
}
