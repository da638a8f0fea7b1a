import ArgumentParser
import Foundation
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
            discussion: "Examples/rehearsals has ready-made ones.")

        @OptionGroup var common: CommonOptions

        @Argument(help: "A file with the rehearsal; - for standard input.", completion: .file())
        var file: String

        func run() async throws {
            let document: JSONValue
            do {
                let data =
                    file == "-"
                    ? try FileHandle.standardInput.readToEnd() ?? Data()
                    : try Data(contentsOf: URL(fileURLWithPath: file))
                document = try JSONDecoder().decode(JSONValue.self, from: data)
            } catch is DecodingError {
                throw CommandError("\(file) is not JSON.")
            } catch {
                throw CommandError("\(file) cannot be read: \(error.localizedDescription)")
            }
            let begun: ManagementMessages.RehearsalBegun
            do {
                begun = try await common.management().ask(.post, RehearseCommand.path, document)
            } catch let error as CommandError {
                throw error.inFile(file)
            }
            Output(isJSON: common.json).print(begun, "The rehearsal \(begun.rehearsal) has begun.")
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
                    [try await management.ask(.get, RehearseCommand.path + "/" + RehearseCommand.escaped(id))]
                } else {
                    try await management.list(RehearseCommand.path) { $0.rehearsal }
                }
            let output = Output(isJSON: common.json)
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
                    .delete, RehearseCommand.path + "/" + RehearseCommand.escaped(id))
                RehearseCommand.show(ended, Output(isJSON: common.json))
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

    fileprivate static func escaped(_ id: String) -> String {
        id.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? ""
    }
}
