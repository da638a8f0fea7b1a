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
        subcommands: [Run.self, Status.self, Apps.self, SettingsCommand.self, Confine.self],
        defaultSubcommand: Run.self)

    package init() {}

    /// The folder with the manifests that a package installs.
    static let installedManifests = "/etc/carillon-device/apps.d"

    struct Run: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "run", abstract: "Run the agent. This is what device agent does without a subcommand.")

        @Option(help: "The folder for the device's identity, and for what apps have not handled.")
        var state: String

        @Option(help: ArgumentHelp("The Unix socket for the apps.", valueName: "path"))
        var socket: String

        @Option(help: ArgumentHelp("The service's courier: https://HOST:PORT; 5223 without a port.", valueName: "url"))
        var service: String

        @Option(help: ArgumentHelp("The root certificate of the service, PEM.", valueName: "file"))
        var ca: String

        @Option(help: "A one-time activation code, for the first start.")
        var code: String?

        @Option(
            name: .customLong("code-file"),
            help: ArgumentHelp("A file with the activation code, which other users cannot see.", valueName: "file"))
        var codeFile: String?

        @Option(help: ArgumentHelp("The identity to use, instead of an activation.", valueName: "file"))
        var identity: String?

        @Option(help: "The environment in which the device is activated: development or production.")
        var environment = Environment.development

        @Option(
            help: ArgumentHelp(
                "The folder with the manifests; apps.d in the state folder if it is there, otherwise "
                    + "\(DeviceAgentCommand.installedManifests).", valueName: "dir"))
        var apps: String?

        @Option(help: "A language of the user's, the preferred one first; repeatable.")
        var language: [String] = []

        @Flag(
            name: .customLong("no-desktop"),
            help: "Do not show alerts on the desktop. They are shown there if the user has a session bus of D-Bus.")
        var noDesktop = false

        @Flag(
            name: .customLong("confine-commands"),
            help:
                "Keep the agent's files from the commands of apps, which run as the same user. They cannot make files in the folders above --state either."
        )
        var confinesCommands = false

        @Flag(help: "Print one JSON object per line on standard output, and nothing else.")
        var json = false

        @OptionGroup var log: LogOptions

        func validate() throws {
            let sources = [code, codeFile, identity].compactMap(\.self)
            guard sources.count <= 1 else {
                throw ValidationError("--code, --code-file and --identity say the same in different ways; name one.")
            }
        }

        func run() async throws {
            let address = try HostAndPort(service, defaultPort: 5223)
            let folder = AbsolutePath.of(state)
            var settings = AgentSettings(
                folder: folder, socket: AbsolutePath.of(socket),
                courier: CourierAddress(
                    host: address.host, port: address.port, authorityFile: AbsolutePath.of(ca)),
                manifests: apps.map { AbsolutePath.of($0) } ?? Self.defaultManifests(folder),
                languages: language.isEmpty ? ["en"] : language, version: Version.text)
            settings.environment = self.environment
            // The code is for the first start. Later its file may be gone.
            if !FileManager.default.fileExists(atPath: settings.ownIdentityFile) {
                settings.code = try code ?? codeFile.flatMap(Self.readCode)
            }
            settings.identityFile = identity.map { AbsolutePath.of($0) }
            let environment = ProcessInfo.processInfo.environment
            if !noDesktop { settings.desktopBus = AgentSettings.sessionBus(environment) }
            if confinesCommands, Confinement.isPossible { settings.confining = ["/proc/self/exe"] + Confine.start }
            // systemd.exec(5), CREDENTIALS_DIRECTORY: the code may be there.
            settings.hidden =
                [codeFile, identity].compactMap { $0.map(AbsolutePath.of) }
                + [environment["CREDENTIALS_DIRECTORY"]].compactMap(\.self)
            let supervisor = Supervisor(log.logFormat ?? .text, environment: environment)
            var logger = Logger(label: "carillon-device")
            logger.logLevel = log.logLevel ?? .info
            if confinesCommands, !Confinement.isPossible {
                logger.warning("The commands of apps can read the agent's files: the kernel has no Landlock")
            }
            let isJSON = json
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
            supervisor.ready { _ = await agent.isAlive }
            Output(isJSON: isJSON).print(
                Ready(socket: settings.socket, deviceID: agent.identity.deviceID),
                "The agent of the device \(agent.identity.deviceID) listens at \(settings.socket)")
            let failure = await withGracefulShutdownHandler { () -> (any Error)? in
                do {
                    try await agent.run()
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

        private static func defaultManifests(_ folder: String) -> String {
            let own = folder + "/apps.d"
            return FileManager.default.fileExists(atPath: own) ? own : DeviceAgentCommand.installedManifests
        }

        /// - Returns: nil if the file is empty.
        private static func readCode(_ file: String) throws -> String? {
            let text = try InputFile.text(file, "file with the activation code")
            let code = text.trimmingCharacters(in: .whitespacesAndNewlines)
            return code.isEmpty ? nil : code
        }

        private struct Ready: Encodable {
            let event = "ready"
            let socket: String
            let deviceID: String
        }
    }
}
