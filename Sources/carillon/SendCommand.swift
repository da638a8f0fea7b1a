import APNSProvider
import ArgumentParser
import Foundation
import NIOPosix
import Notifications
import Service

struct SendCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "send",
        abstract: "Send a notification.",
        discussion: "Values go to the service as they are given, which judges them.",
    )

    @OptionGroup var common: CommonOptions
    @OptionGroup var credentials: CredentialOptions

    @Option(help: "The device token, in hexadecimal digits.")
    var token: String

    @Option(help: "The topic, usually the app's bundle ID.")
    var topic: String

    @Option(help: "development or production.")
    var environment = Environment.development

    @Option(help: "The text to show.")
    var alert: String?

    @Option(help: "A file with the whole payload, a JSON dictionary; - for standard input.")
    var payload: String?

    @Option(help: "The notification's identifier, a UUID; the service makes one otherwise.")
    var id: String?

    @Option(help: "When it is no longer valid, in seconds since 1970; 0 for one attempt.")
    var expiration: String?

    @Option(help: "10, 5 or 1.")
    var priority: String?

    @Option(name: .customLong("collapse-id"), help: "Shown in the place of an earlier one with the same identifier.")
    var collapseID: String?

    @Option(name: .customLong("push-type"), help: "alert, background, voip, …")
    var pushType: String?

    @Option(help: "Where to send, https://host:port; the running service by default.")
    var url: String?

    @Option(help: "The root certificate that the server is known by, PEM; the system's unless --url is left out.")
    var ca: String?

    func validate() throws {
        guard (alert == nil) != (payload == nil) else {
            throw ValidationError("Name what to send: either --alert TEXT or --payload FILE.")
        }
    }

    func run() async throws {
        let push = PushRequest(
            deviceToken: token, topic: topic, payload: try body(), id: id, expiration: expiration, priority: priority,
            collapseID: collapseID, pushType: pushType ?? (alert == nil ? nil : "alert"))
        let client = try await client()
        let outcome = try await client.send(push)
        await client.close()
        report(outcome)
        guard outcome.status == 200 else { throw ExitCode.failure }
    }

    private func client() async throws -> ProviderClient {
        let credentials = try credentials.credentials(common)
        let server: HostAndPort
        var authority = ca
        var serverName: String?
        if let url {
            server = try HostAndPort(url)
        } else {
            let service = try common.runningService()
            server = try service.provider(environment)
            authority = authority ?? service.description.ca
            serverName = service.description.serverName(environment)
        }
        return try await ProviderClient(
            host: server.host, port: server.port, serverName: serverName, authorityFile: authority,
            credentials: credentials,
            group: MultiThreadedEventLoopGroup.singleton)
    }

    private func body() throws -> [UInt8] {
        if let alert { return Array(#"{"aps":{"alert":\#(JSONString.quoted(alert))}}"#.utf8) }
        guard let payload else { return [] }
        let data =
            payload == "-"
            ? FileHandle.standardInput.readDataToEndOfFile() : FileManager.default.contents(atPath: payload)
        guard let data else { throw CommandError("The payload \(payload) cannot be read.") }
        return Array(data)
    }

    private func report(_ outcome: PushOutcome) {
        let output = Output(isJSON: common.json)
        if outcome.status == 200 {
            output.print(Accepted(status: outcome.status, apnsID: outcome.apnsID), "Accepted: \(outcome.apnsID ?? "")")
        } else {
            let detail = outcome.detail.map { ": " + $0 } ?? ""
            output.print(
                Refused(status: outcome.status, reason: outcome.reason),
                "Refused: \(outcome.status) \(outcome.reason ?? "without a reason")\(detail)")
        }
    }

    private struct Accepted: Encodable {
        let status: Int
        let apnsID: String?
    }

    private struct Refused: Encodable {
        let status: Int
        let reason: String?
    }
}
