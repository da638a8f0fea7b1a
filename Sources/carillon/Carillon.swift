import ArgumentParser
import Foundation

/// The command. Every subcommand finds the running service through the files in its data folder.
@main
struct Carillon: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "carillon",
        abstract: "A push notification service that speaks the protocols of APNs.",
        discussion: "Start with: carillon demo",
        subcommands: [
            ServeCommand.self, DemoCommand.self, TeamCommand.self, AppCommand.self, KeyCommand.self,
            DeviceCommand.self, SendCommand.self,
        ],
    )
}
