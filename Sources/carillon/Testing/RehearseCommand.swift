import ArgumentParser
import CommandSupport
import Foundation
import HTTPAPIClient
import Management
import Notifications

struct RehearseCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "rehearse", abstract: "Rehearse trouble: scripted faults for providers.",
        subcommands: [Start.self, Status.self, End.self], defaultSubcommand: Start.self)

    fileprivate static let path = "/v1/rehearsals"

    struct Start: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Begin a rehearsal.",
            discussion: """
                Name a trouble, or a file. Examples/rehearsals has ready-made ones.

                  carillon rehearse --reason ServiceUnavailable --share 0.1
                  carillon rehearse --goaway-every 100
                  carillon rehearse --slow PT2S
                """)

        @OptionGroup var common: CommonOptions
        @OptionGroup var trouble: TroubleOptions

        @Argument(help: "A file with the rehearsal; - for standard input.", completion: .file())
        var file: String?

        func validate() throws {
            guard (file == nil) != (try trouble.document() == nil) else {
                throw ValidationError(
                    file == nil
                        ? "Name a trouble, such as --reason ServiceUnavailable, or a file with a rehearsal."
                        : "Name a trouble or a file, and not both.")
            }
        }

        func run() async throws {
            let begun: ManagementMessages.RehearsalBegun
            if let document = try trouble.document() {
                begun = try await common.management().ask(.POST, RehearseCommand.path, document)
            } else {
                begun = try await JSONFile(path: file ?? "-").send("rehearsal") {
                    try await common.management().ask(.POST, RehearseCommand.path, $0)
                }
            }
            common.output.print(begun, "The rehearsal \(begun.rehearsal) has begun.")
        }
    }

    struct Status: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Show how often each rule matched and fired.")

        @OptionGroup var common: CommonOptions

        @Argument(help: "The rehearsal's identifier; all rehearsals without it.")
        var id: String?

        @Flag(name: .customLong("require-fired"), help: "Fail if a rule has never fired.")
        var requiresFired = false

        func run() async throws {
            let management = try common.management()
            let rehearsals: [ManagementMessages.Rehearsal] =
                if let id {
                    [try await management.ask(.GET, RehearseCommand.path + "/" + id.percentEncoded)]
                } else {
                    try await management.list(RehearseCommand.path) { $0.rehearsal }
                }
            let output = common.output
            for rehearsal in rehearsals { RehearseCommand.show(rehearsal, output) }
            if rehearsals.isEmpty, !common.json { output.print(Never?.none, "There is no rehearsal.") }
            guard requiresFired else { return }
            let silent = rehearsals.flatMap(\.rules).filter { $0.fired == 0 }.map(\.rule)
            guard !rehearsals.isEmpty else { throw CommandError("There is no rehearsal that could have fired.") }
            guard silent.isEmpty else {
                throw CommandError("These rules have never fired: \(silent.joined(separator: ", ")).")
            }
        }
    }

    struct End: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "End a rehearsal, and show how often its rules fired.")

        @OptionGroup var common: CommonOptions

        @Argument(help: "The rehearsal's identifier; all that are active without it.")
        var id: String?

        func run() async throws {
            let management = try common.management()
            var ids: [String] = []
            if let id {
                ids = [id]
            } else {
                let all: [ManagementMessages.Rehearsal] = try await management.list(RehearseCommand.path) {
                    $0.rehearsal
                }
                ids = all.filter(\.active).map(\.rehearsal)
            }
            for id in ids {
                let ended: ManagementMessages.Rehearsal = try await management.ask(
                    .DELETE, RehearseCommand.path + "/" + id.percentEncoded)
                RehearseCommand.show(ended, common.output)
            }
        }
    }

    /// One rule of a rehearsal, as a line of output.
    private struct Line: Encodable {
        let rehearsal: String
        let rule: String
        let matched: UInt64
        let fired: UInt64
    }

    fileprivate static func show(_ rehearsal: ManagementMessages.Rehearsal, _ output: Output) {
        for rule in rehearsal.rules {
            output.print(
                Line(rehearsal: rehearsal.rehearsal, rule: rule.rule, matched: rule.matched, fired: rule.fired),
                "\(rehearsal.rehearsal)  \(rule.rule): matched \(rule.matched), fired \(rule.fired)"
                    + (rehearsal.active ? "" : " (ended)"))
        }
    }
}
