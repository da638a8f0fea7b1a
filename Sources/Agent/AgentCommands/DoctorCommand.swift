import APNSDevice
import ArgumentParser
import CommandSupport
import DeviceAgent
import Foundation
import HTTPAPIClient
import Notifications

extension DeviceAgentCommand {
    struct DoctorCommand: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "doctor",
            abstract: "Look at everything that an agent needs, and say what to do.",
            discussion: """
                With the agent's own options, or of the agent that runs at --socket, or of the one that a package installed. \
                It changes nothing, and uses up no activation code. The exit status is 1 if there is a fault.
                """)

        @OptionGroup var options: AgentOptions

        func run() async throws {
            var asking = DeviceAgentOptions()
            asking.socket = options.socket
            let status = try? await asking.client.ask(.GET, "/v1/status")
            let running = status.map { status in
                RunningAgent(
                    connection: status.members["connection"]?.string ?? "", cause: status.members["cause"]?.string,
                    distributorName: status.members["distributor"]?.members["name"]?.string)
            }
            let settings = try self.settings(of: status, asking)
            let findings = await Doctor(settings, running: running, now: Date()).examine()
            let output = Output(isJSON: options.json)
            for finding in findings { output.print(finding, Self.line(finding)) }
            if findings.contains(where: { $0.state == .fault }) { throw ExitCode(1) }
        }

        private func settings(of status: JSONValue?, _ asking: DeviceAgentOptions) throws -> AgentSettings {
            if options.namesAgent { return try options.settings() }
            if let status {
                guard let named = status.members["settings"] else {
                    throw CommandError(
                        "The agent says how it was started to root and to its own user alone: run this as one of them.")
                }
                return try Self.settings(named, socket: asking.path)
            }
            guard let installed = try InstalledAgent.options(socket: asking.path, options) else {
                throw CommandError(
                    "No agent answers at \(asking.path), and no package has installed one: name the agent's own options, "
                        + "--state, --socket, --service and --ca.")
            }
            return try installed.settings()
        }

        /// The settings of an agent that runs, from its status.
        private static func settings(_ named: JSONValue, socket: String) throws -> AgentSettings {
            func text(_ key: String) -> String? { named.members[key]?.string }
            guard let state = text("state"), let host = text("host"), let ca = text("ca"), let apps = text("apps"),
                case .integer(let port)? = named.members["port"], let number = Int(exactly: port)
            else { throw CommandError("The agent's status cannot be read.") }
            var settings = AgentSettings(
                folder: state, socket: socket, courier: CourierAddress(host: host, port: number, authorityFile: ca),
                manifests: apps, version: Version.text)
            settings.environment = text("environment").flatMap(Environment.init(rawValue:)) ?? .development
            settings.codeFile = text("codeFile")
            settings.identityFile = text("identityFile")
            settings.desktopBus = text("bus")
            (settings.unifiedPush, settings.unifiedPushBus) = (text("unifiedPush"), text("unifiedPushBus"))
            return settings
        }

        private static func line(_ finding: Finding) -> String {
            let begin = "\(finding.state.rawValue) \(finding.check.rawValue): "
            let line = begin + [finding.text, finding.advice].filter { !$0.isEmpty }.joined(separator: " ")
            return TerminalText.clean(line)
        }
    }
}

/// An agent that the package carillon-device has installed, as its unit starts it.
enum InstalledAgent {
    private static let folder = "/etc/carillon-device"

    /// - Returns: nil if there is no such agent.
    static func options(socket: String, _ given: AgentOptions) throws -> AgentOptions? {
        let file = folder + "/agent.env"
        guard let text = try? String(contentsOfFile: file, encoding: .utf8) else { return nil }
        var values: [String: String] = [:]
        for line in text.split(whereSeparator: \.isNewline) where !line.hasPrefix("#") {
            let parts = line.split(separator: "=", maxSplits: 1).map { $0.trimmingCharacters(in: .whitespaces) }
            if parts.count == 2 { values[parts[0]] = parts[1].trimmingCharacters(in: ["\"", "'"]) }
        }
        guard let service = values["CARILLON_DEVICE_SERVICE"] else {
            throw CommandError("\(file) has no CARILLON_DEVICE_SERVICE.")
        }
        var options = given
        options.state = "/var/lib/carillon-device"
        options.socket = socket
        options.service = service
        options.environment = values["CARILLON_DEVICE_ENVIRONMENT"].flatMap(Environment.init(rawValue:)) ?? .development
        options.ca = folder + "/ca.pem"
        if given.codeFile == nil, FileManager.default.fileExists(atPath: folder + "/code") {
            options.codeFile = folder + "/code"
        }
        options.apps = given.apps ?? folder + "/apps.d"
        options.noDesktop = true
        return options
    }
}
