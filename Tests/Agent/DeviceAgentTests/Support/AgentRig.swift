import APNSDevice
import CommonTesting
import Foundation
import HTTPAPIClient
import Logging
import NIOHTTP1
import Notifications

@testable import DeviceAgent
@testable import ServiceTesting

/// An agent in this process, on a folder of its own, and a client of its socket.
struct AgentRig: Sendable {
    let agent: Agent
    let folder: String
    let client: APIClient
    let service: TestService

    /// A request that the agent refused.
    struct Refused: Error {
        let status: UInt
        let detail: String
    }

    static func client(_ socket: String) -> APIClient {
        APIClient(.socket(path: socket)) { failure in
            guard case .refused(let status, _) = failure else { return Refused(status: 0, detail: "\(failure)") }
            return Refused(status: status, detail: failure.problem.detail ?? "")
        }
    }

    /// Runs an agent while `body` runs. The tests' own user may be the service's app.
    /// - Parameter courierPort: the port at which the agent looks for the service; nil for the service's own.
    static func run(
        on service: TestService,
        folder: String,
        manifest: String? = nil,
        languages: [String] = ["en"],
        desktopBus: String? = nil,
        courierPort: Int? = nil,
        _ body: (AgentRig) async throws -> Void,
    ) async throws {
        let manager = FileManager.default
        let manifests = folder + "/apps.d"
        // The same folder is used again by a test that restarts the agent.
        try manager.createDirectory(
            atPath: manifests, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        try write(manifest ?? #"{"bundleID":"\#(service.bundleID)"}"#, to: manifests + "/app.json")
        var settings = AgentSettings(
            folder: folder + "/state", socket: folder + "/s", courier: try service.courier, manifests: manifests,
            languages: languages, version: "test")
        settings.desktopBus = desktopBus
        settings.courier.port = courierPort ?? settings.courier.port
        let agent = try await Agent.open(settings, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
        await agent.prepare()
        let server = try await AgentServer.start(agent)
        let running = Task { try await agent.run() }
        try await withCleanUp {
            try await body(AgentRig(agent: agent, folder: folder, client: client(settings.socket), service: service))
        } cleanUp: {
            await agent.close()
            await server.close()
            try await running.value
        }
    }

    static func write(_ text: String, to path: String) throws {
        try Data(text.utf8).write(to: URL(fileURLWithPath: path))
        try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: path)
    }

    var bundleID: String { service.bundleID }
    var path: String { "/v1/apps/\(bundleID)" }

    /// Registers the app.
    @discardableResult
    func register(_ registration: JSONValue = [:]) async throws -> JSONValue {
        try await client.ask(.PUT, path, registration)
    }

    func token() async throws -> String { try await register()["token"]?.string ?? "" }

    /// Sends a notification as the app's provider.
    func send(_ payload: String, to token: String, headers: [(String, String)] = []) async throws {
        let provider = try await service.connectProvider()
        var fields = ProviderHeaders(token, token: try service.providerToken())
        for (name, value) in headers { fields = fields.with(name, value) }
        let answer = try await provider.send(fields.fields, body: payload)
        await provider.close()
        guard answer.status == 200 else { throw Refused(status: UInt(answer.status), detail: "\(answer)") }
    }

    /// The events of a new stream.
    func events() -> EventReader { EventReader(client, path + "/events") }

    func handled(_ deliveries: [JSONValue]) async throws {
        _ = try await client.ask(.POST, path + "/handled", ["deliveries": .array(deliveries)])
    }

    /// The app's status.
    func app() async throws -> JSONValue? {
        let status = try await client.ask(.GET, "/v1/status")
        guard case .array(let apps)? = status["apps"] else { return nil }
        return apps.first { $0["bundleID"]?.string == bundleID }
    }
}

/// Reads the lines of an app's stream.
final class EventReader: Sendable {
    private let task: Task<Void, Never>
    private let lines: AsyncStream<String>

    init(_ client: APIClient, _ path: String) {
        let (lines, line) = AsyncStream.makeStream(of: String.self)
        self.lines = lines
        task = Task {
            // An error ends the lines, and the test notices that.
            try? await client.lines(path) { line.yield(String($0)) }
            line.finish()
        }
    }

    deinit { task.cancel() }

    /// The next events, as many as the test expects.
    func next(_ count: Int = 1) async throws -> [JSONValue] {
        var events: [JSONValue] = []
        for await line in lines {
            events.append(try required(JSONValue(Array(line.utf8))))
            if events.count == count { return events }
        }
        throw AgentRig.Refused(status: 0, detail: "The stream ended after \(events).")
    }

    /// Waits for the end of the stream.
    func ended() async { for await _ in lines {} }
    func close() { task.cancel() }
}

extension JSONValue {
    subscript(_ key: String) -> JSONValue? { members[key] }

    var int: Int64? { if case .integer(let number) = self { number } else { nil } }
}

/// A short folder for a socket: the system allows about 100 bytes for its path.
func withAgentFolder(_ body: (String) async throws -> Void) async throws {
    let folder = "/tmp/ca-\(UUID().uuidString.prefix(12))"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: folder) }  // A folder that stays does no harm.
    try await body(folder)
}
