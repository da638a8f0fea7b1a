import CommonTesting
import Foundation
import HTTPAPIClient
import Notifications

@testable import ServiceTesting

/// A running `carillon-agent`, which does the same as `carillon device agent`.
struct AgentProcess: Sendable {
    let child: ChildProcess
    let socket: String
    /// Empty if it has no identity.
    let deviceID: String

    var client: APIClient { AgentRig.client(socket) }

    /// The arguments of an agent on a folder. Its manifests are in `apps.d` there, and its service is the suite's.
    static func arguments(_ folder: String) throws -> [String] {
        let ready = try CarillonProcess.current.ready
        let courier = try required(ready.development).courier
        return [
            "--state", folder + "/state", "--socket", folder + "/s", "--service",
            "https://\(courier)",
            "--ca", ready.ca, "--apps", folder + "/apps.d", "--json", "--log-format", "text", "--log-level",
            "debug",
        ]
    }

    /// Runs an agent while `body` runs. Afterwards kills it if it still runs.
    /// - Parameter starter: a program and arguments that become the command added to them; empty if the agent is started directly.
    static func with(
        _ folder: String,
        _ more: [String] = [],
        environment: [String: String] = [:],
        startedBy starter: [String] = [],
        _ body: (AgentProcess) async throws -> Void,
    ) async throws {
        let command = starter + [BuiltCommand.agentPath] + (try arguments(folder)) + more
        // Without these, no desktop of the machine that runs the tests is used.
        let own = ["DBUS_SESSION_BUS_ADDRESS": "", "XDG_RUNTIME_DIR": folder]
        try await ChildProcess.with(
            command[0], Array(command.dropFirst()), environment: own.merging(environment) { $1 }
        ) { child in
            guard let line = await child.output.nextLine() else {
                let finished = await child.finished()
                throw AgentRig.Refused(status: 0, detail: "The agent ended: \(finished.errors)")
            }
            let ready = try required(JSONValue(Array(line.utf8)))
            guard ready["event"] == "ready" else { throw AgentRig.Refused(status: 0, detail: line) }
            try await body(
                AgentProcess(
                    child: child, socket: try required(ready["socket"]?.string),
                    deviceID: ready["deviceID"]?.string ?? ""))
        }
    }

    /// Writes a manifest.
    static func write(_ manifest: String, in folder: String, as name: String = "app") throws {
        try FileManager.default.createDirectory(
            atPath: folder + "/apps.d", withIntermediateDirectories: true, attributes: [.posixPermissions: 0o755])
        try AgentRig.write(manifest, to: "\(folder)/apps.d/\(name).json")
    }

    /// The events that the only app has not handled.
    func pending() async throws -> Int64 {
        let status = try await client.ask(.GET, "/v1/status")
        guard case .array(let apps)? = status["apps"] else { return 0 }
        return apps.first?["pending"]?.int ?? 0
    }

    /// Ends the agent without giving it a chance.
    func kill() async {
        child.signal(SIGKILL)
        _ = await child.finished()
    }
}
