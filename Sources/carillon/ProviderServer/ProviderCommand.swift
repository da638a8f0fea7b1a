import ArgumentParser

/// Runs the provider server, or sends requests to a running one.
struct ProviderCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "provider",
        abstract: "A server that keeps the installations of apps and sends messages to them.",
        discussion: "Start with: carillon provider serve",
        subcommands: [
            ProviderServeCommand.self, ProviderAppCommand.self, ProviderInstallationCommand.self,
            ProviderAudienceCommand.self, ProviderMessageCommand.self, ProviderChannelCommand.self,
            ProviderHookCommand.self, ProviderConsoleCommand.self,
        ])
}
