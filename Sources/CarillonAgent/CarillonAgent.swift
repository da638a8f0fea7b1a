import AgentCommands
import ArgumentParser
import CommandSupport

/// The device agent alone, for machines that need nothing else: the command `carillon device agent` without the service.
@main
struct CarillonAgent: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "carillon-agent",
        abstract: DeviceAgentCommand.configuration.abstract,
        discussion: DeviceAgentCommand.configuration.discussion,
        version: Version.text,
        subcommands: DeviceAgentCommand.configuration.subcommands,
        defaultSubcommand: DeviceAgentCommand.configuration.defaultSubcommand)

    #if os(Linux)
        static func main() {
            EventLoopExecutor.run {
                await runAsMain()
                Self.exit()
            }
        }
    #else
        static func main() async { await runAsMain() }
    #endif
}
