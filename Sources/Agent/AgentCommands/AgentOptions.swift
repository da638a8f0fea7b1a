import ArgumentParser
import APNSDevice
import CommandSupport
import DeviceAgent
import Foundation
import Notifications
import PrivateFiles
import Supervision

/// The options with which an agent is started. The doctor takes the same ones.
struct AgentOptions: ParsableArguments {
    @Option(help: "The folder for the device's identity, and for what apps have not handled.")
    var state: String?

    @Option(help: ArgumentHelp("The Unix socket for the apps.", valueName: "path"))
    var socket: String?

    @Option(help: ArgumentHelp("The service's courier: https://HOST:PORT; 5223 without a port.", valueName: "url"))
    var service: String?

    @Option(help: ArgumentHelp("The root certificate of the service, PEM.", valueName: "file"))
    var ca: String?

    @Option(help: "A one-time activation code, for the first start, and in place of a refused identity.")
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

    @Option(
        name: .customLong("unifiedpush"),
        help: ArgumentHelp(
            "Be a distributor of UnifiedPush for the apps of the desktop. Their subscriptions belong to this app.",
            valueName: "bundle-id"))
    var unifiedPush: String?

    @Flag(
        name: .customLong("confine-commands"),
        help:
            "Keep the agent's files from the commands of apps, which run as the same user, and let each be its own app alone. They cannot make files in the folders above --state either."
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

    /// Whether the options name an agent; an agent that runs is meant otherwise.
    var namesAgent: Bool { [state, service, ca].contains { $0 != nil } }

    /// - Throws: if an option is missing without which there is no agent.
    func settings() throws -> AgentSettings {
        func required(_ value: String?, _ option: String) throws -> String {
            guard let value else { throw ValidationError("Missing expected argument '\(option)'") }
            return value
        }
        let folder = AbsolutePath.of(try required(state, "--state <state>"))
        let path = AbsolutePath.of(try required(socket, "--socket <path>"))
        let address = try HostAndPort(try required(service, "--service <url>"), defaultPort: 5223)
        let authority = AbsolutePath.of(try required(ca, "--ca <file>"))
        var settings = AgentSettings(
            folder: folder, socket: path,
            courier: CourierAddress(host: address.host, port: address.port, authorityFile: authority),
            manifests: apps.map { AbsolutePath.of($0) } ?? Self.defaultManifests(folder),
            languages: language.isEmpty ? ["en"] : language, version: Version.text)
        settings.environment = environment
        settings.code = code
        settings.codeFile = codeFile.map { AbsolutePath.of($0) }
        settings.identityFile = identity.map { AbsolutePath.of($0) }
        let environment = ProcessInfo.processInfo.environment
        if !noDesktop { settings.desktopBus = AgentSettings.sessionBus(environment) }
        if let unifiedPush {
            guard BundleID(rawValue: unifiedPush) != nil else {
                throw ValidationError("--unifiedpush takes a bundle ID.")
            }
            guard let bus = AgentSettings.sessionBus(environment) else {
                throw ValidationError("--unifiedpush needs a session bus of D-Bus, and the agent's user has none.")
            }
            (settings.unifiedPush, settings.unifiedPushBus) = (unifiedPush, bus)
        }
        settings.confinesCommands = confinesCommands
        if confinesCommands, Confinement.isPossible {
            settings.confining = ["/proc/self/exe"] + DeviceAgentCommand.Confine.start
        }
        // systemd.exec(5), CREDENTIALS_DIRECTORY: the code may be there.
        settings.hidden =
            [codeFile, identity].compactMap { $0.map(AbsolutePath.of) }
            + [environment["CREDENTIALS_DIRECTORY"]].compactMap(\.self)
        return settings
    }

    private static func defaultManifests(_ folder: String) -> String {
        let own = folder + "/apps.d"
        return FileManager.default.fileExists(atPath: own) ? own : DeviceAgentCommand.installedManifests
    }
}
