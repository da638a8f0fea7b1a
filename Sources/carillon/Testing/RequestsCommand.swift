import ArgumentParser
import CommandSupport
import Foundation
import HTTPAPI
import HTTPAPIClient
import Management
import Matching
import Notifications

/// Shows what providers sent, from the service's journal.
struct RequestsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "requests",
        abstract: "Show what providers sent, and what happened to it.",
        subcommands: [List.self, Clear.self],
        defaultSubcommand: List.self,
    )

    /// The option that selects requests.
    struct MatchOption: ParsableArguments {
        @Option(help: ArgumentHelp(#"Only requests that match, as in {"topic":"com.example.app"}."#, valueName: "json"))
        var match: String?

        func validate() throws { _ = try value() }

        /// - Returns: nil if none is given.
        func value() throws -> JSONValue? {
            guard let match else { return nil }
            let value = try JSONFile.value(of: Data(match.utf8), "The match")
            do throws(MatchError) {
                _ = try RequestMatch(value)
            } catch {
                throw ValidationError("The match is wrong at \(error.pointer.debugDescription): \(error.detail)")
            }
            return value
        }

        /// The match as parameters of a query, in alphabetical order.
        func query() throws -> [String] {
            (try value()?.members ?? [:]).map { key, value in
                "\(key)=\((value.string ?? value.text).percentEncoded)"
            }
        }
    }

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Show what providers sent, oldest request first.")

        @OptionGroup var common: CommonOptions
        @OptionGroup var match: MatchOption

        @Flag(help: "Also show later requests, until interrupted.")
        var follow = false

        func run() async throws {
            let (client, output) = (try common.management(), common.output)
            let query = try match.query()
            if follow {
                let path = "/v1/requests?" + (query + ["follow=true"]).joined(separator: "&")
                return try await client.lines(path) { line in
                    output.printRaw(String(line), RequestLine(String(line)).text)
                }
            }
            var after: [String] = []
            while true {
                let path =
                    "/v1/requests?"
                    + (query.filter { after.isEmpty || !$0.hasPrefix("after=") } + after)
                    .joined(separator: "&")
                let page: [JSONValue] = try await client.ask(.GET, path)
                for request in page { output.print(request, RequestLine(request).text) }
                guard page.count == APILimits.listItems, let number = page.last.flatMap(RequestLine.number)
                else { return }
                after = ["after=\(number)"]
            }
        }
    }

    struct Clear: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Forget what providers sent.")

        @OptionGroup var common: CommonOptions
        @OptionGroup var match: MatchOption

        func run() async throws {
            let query = try match.query().joined(separator: "&")
            let deleted: ManagementMessages.DeletedRequests = try await common.management().ask(
                .DELETE, "/v1/requests" + (query.isEmpty ? "" : "?" + query))
            common.output.print(deleted, "Forgot \(deleted.deleted) requests.")
        }
    }
}

/// A request of the journal, for people.
struct RequestLine {
    private let members: JSONMembers

    init(_ request: JSONValue) { members = request.members }

    init(_ json: String) { self.init((try? JSONValue(answer: Array(json.utf8))) ?? [:]) }

    static func number(_ request: JSONValue) -> Int64? {
        request.members["number"]?.int64
    }

    var text: String {
        if shown("outcome") == "failed" {
            let parts = [
                "#" + shown("number"), shown("connection"), shown("protocol"), shown("serverName"), shown("client"),
                "connection failed: " + shown("cause"),
            ]
            return parts.filter { !$0.isEmpty }.joined(separator: "  ")
        }
        let status = [shown("status"), shown("reason")].filter { !$0.isEmpty }.joined(separator: " ")
        let parts = [
            "#" + shown("number"), shown("connection"), shown("protocol"), shown("topic"),
            String(shown("token").prefix(12)),
            status.isEmpty ? "not answered" : status, shown("outcome"), shown("payload"),
        ]
        return parts.filter { !$0.isEmpty }.joined(separator: "  ")
    }

    /// What the backend has sent may contain characters that would change what a terminal shows.
    private func shown(_ key: String) -> String {
        TerminalText.clean(members[key].map { $0.string ?? $0.text } ?? "")
    }
}
