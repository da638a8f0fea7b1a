import CommonTesting
import Foundation
import Testing

@testable import ServiceTesting

/// The help of every command of both programs.
@Suite(.timeLimit(.minutes(5))) struct HelpTests {
    /// What the parser tells of a program for other programs.
    private struct Dump: Decodable {
        struct Command: Decodable {
            let commandName: String
            let subcommands: [Command]?

            /// The words that name this command and each command below it.
            func words(after parent: [String]) -> [[String]] {
                let own = parent + [commandName]
                return [own] + (subcommands ?? []).filter { $0.commandName != "help" }.flatMap { $0.words(after: own) }
            }
        }

        let command: Command
    }

    @Test(arguments: [BuiltCommand.path, BuiltCommand.agentPath])
    func `The help of each command fits into 80 columns`(_ program: String) async throws {
        let dumped = try await ChildProcess.run(program, ["--experimental-dump-help"])
        let commands = try JSONDecoder().decode(Dump.self, from: Data(dumped.output.utf8)).command.words(after: [])
        #expect(commands.count > 5)
        for words in commands.map({ Array($0.dropFirst()) }) {
            let help = try await ChildProcess.run(program, words + ["-h"], environment: ["COLUMNS": "80"])
            let lines = help.output.split(separator: "\n")
            #expect(help.status == 0 && lines.contains { $0.hasPrefix("USAGE: ") }, "\(words)")
            for line in lines { #expect(line.count <= 80, "\(words): \(line)") }
        }
    }
}
