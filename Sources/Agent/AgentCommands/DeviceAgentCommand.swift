import APNSDevice
package import ArgumentParser
import CommandSupport
import DeviceAgent
import Foundation
import Logging
import Notifications
import PrivateFiles
import ServiceLifecycle
import Supervision

/// The agent, and the commands that ask a running one.
package struct DeviceAgentCommand: AsyncParsableCommand {
    package static let configuration = CommandConfiguration(
        commandName: "agent",
        abstract: "The service on a device that holds its one connection for all apps on it.",
        discussion: "docs/device-agent.md explains it.",
        subcommands: [Run.self, Status.self, Apps.self, SettingsCommand.self, DoctorCommand.self, Confine.self],
        defaultSubcommand: Run.self)

    package init() {}

    /// The folder with the manifests that a package installs.
    static let installedManifests = "/etc/carillon-device/apps.d"

    struct Run: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "run", abstract: "Run the agent. This is what device agent does without a subcommand.")

        @OptionGroup var options: AgentOptions

        func run() async throws {
            let settings = try options.settings()
            let environment = ProcessInfo.processInfo.environment
            let log = options.log
            let supervisor = Supervisor(log.logFormat ?? .text, environment: environment)
            var logger = Logger(label: "carillon-device")
            logger.logLevel = log.logLevel ?? .info
            if settings.confinesCommands, !Confinement.isPossible {
                logger.warning("The commands of apps can read the agent's files: the kernel has no Landlock")
            }
            let isJSON = options.json
            try await supervisor.run(logger) { [settings, logger] in
                try await Self.run(settings, supervisor, logger, isJSON: isJSON)
            }
        }

        private static func run(
            _ settings: AgentSettings,
            _ supervisor: Supervisor,
            _ logger: Logger,
            isJSON: Bool,
        ) async throws {
            let agent: Agent
            let server: AgentServer
            do {
                // A signal ends an activation that waits for the network.
                agent = try await cancelWhenGracefulShutdown { try await Agent.open(settings, logger: logger) }
                await agent.prepare()
                server = try await AgentServer.start(agent)
            } catch  where Task.isShuttingDownGracefully {
                // A signal has cancelled the start. Whatever error follows from that is no failure.
                return
            } catch let error as AgentError {
                throw CommandError(error.cause)
            }
            let failure = await withGracefulShutdownHandler { () -> (any Error)? in
                do {
                    try await agent.run {
                        supervisor.ready { _ = await agent.isAlive }
                        Output(isJSON: isJSON).print(
                            Ready(socket: settings.socket, deviceID: agent.identity?.deviceID),
                            "The agent of \(agent.identity.map { "the device \($0.deviceID)" } ?? "a device without an identity") "
                                + "listens at \(settings.socket)")
                    }
                    return nil
                } catch {
                    return error
                }
            } onGracefulShutdown: {
                Task { await agent.close() }
            }
            await agent.close()
            await server.close()
            agent.closeStore()
            if let failure { throw CommandError("\(failure)") }
        }

        private struct Ready: Encodable {
            let event = "ready"
            let socket: String
            let deviceID: String?
        }
    }
}
