import ArgumentParser
import Foundation

/// The command. Every subcommand finds the running service through the files in its data folder.
@main
struct Carillon: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "carillon",
        abstract: "A push notification service that speaks the protocols of APNs.",
        discussion: "Start with: carillon demo",
        version: Version.text,
        subcommands: [
            ServeCommand.self, DemoCommand.self, TeamCommand.self, AppCommand.self, KeyCommand.self,
            CertificateCommand.self, TokenKeyCommand.self, AdministratorCommand.self, DeviceCommand.self,
            ChannelCommand.self, SendCommand.self, BroadcastCommand.self, FeedbackCommand.self, LogCommand.self,
            HealthCommand.self, FixtureCommand.self,
            RequestsCommand.self, WaitCommand.self, ClockCommand.self, RehearseCommand.self,
            ReportCommand.self, ConsoleCommand.self, StoreCommand.self, NodeCommand.self, ProviderCommand.self,
        ],
    )

    /// Runs a subcommand. A wrong option prints one line. The parser would add the whole usage, which pushes the line
    /// off the screen.
    static func main() async {
        do {
            try UnknownCommand.check(CommandLine.arguments.dropFirst(), under: Self.self)
            let command = try parseAsRoot()
            if var command = command as? any AsyncParsableCommand {
                try await command.run()
            } else {
                var command = command
                try command.run()
            }
        } catch {
            if let advice = Advice.onFailure(error) {
                Output.printDiagnostic("Error: \(advice)")
                exit(withError: ExitCode.failure)
            }
            guard exitCode(for: error) == .validationFailure else { exit(withError: error) }
            let message = message(for: error).split(separator: "\n").joined(separator: " ")
            Output.printDiagnostic("Error: \(Advice.sentence(message)) See the command's --help.")
            exit(withError: ExitCode.validationFailure)
        }
    }
}
