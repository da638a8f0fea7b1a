import ArgumentParser
import CommandSupport

/// The command. Every subcommand finds the running service through the files in its data folder.
@main
struct Carillon: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "carillon",
        abstract: "A push notification service that speaks the protocols of APNs.",
        discussion: "Start with: carillon demo",
        version: Version.text,
        subcommands: [
            ServeCommand.self, InstanceCommand.self, DemoCommand.self, TeamCommand.self, AppCommand.self,
            KeyCommand.self,
            CertificateCommand.self, GrantCommand.self, TokenKeyCommand.self, AdministratorCommand.self,
            DeviceCommand.self,
            ChannelCommand.self, SendCommand.self, BroadcastCommand.self, FeedbackCommand.self, LogCommand.self,
            HealthCommand.self, FixtureCommand.self,
            RequestsCommand.self, WaitCommand.self, ClockCommand.self, RehearseCommand.self,
            ReportCommand.self, ConsoleCommand.self, StoreCommand.self, NodeCommand.self, ProviderCommand.self,
        ],
    )

    static func main() async { await runAsMain(advice: Advice.onFailure) }
}
