import APNSProvider
import ArgumentParser
import CommandSupport
import Foundation
import NIOCore
import Notifications
import Service

struct BroadcastCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "broadcast",
        abstract: "Send a notification to all devices that are subscribed to a channel.",
        discussion: """
            Values go to the service unchecked, so that you see its answer. With --content-state the payload is that of \
            an update of a Live Activity at the present time.
            """,
    )

    @OptionGroup var common: CommonOptions
    @OptionGroup var credentials: CredentialOptions

    @Option(help: "The channel's identifier.")
    var channel: String

    @Option(name: .customLong("bundle-id"), help: "The app's bundle ID.")
    var bundleID: String

    @Option(help: "development or production.")
    var environment = Environment.development

    @Option(name: .customLong("content-state"), help: "The new state of the Live Activity, a JSON dictionary.")
    var contentState: String?

    @Flag(help: "With --content-state: this is the last state, and the Live Activity ends.")
    var end = false

    @Option(help: "A file with the whole payload, a JSON dictionary; - for standard input.")
    var payload: String?

    @Option(help: "The request's identifier, a UUID; the service makes one otherwise.")
    var id: String?

    // Accept a value that begins with a hyphen, because the service decides whether it is valid.
    @Option(
        parsing: .unconditional,
        help: "When a channel no longer keeps it, in seconds since 1970; 0, the default, to keep nothing.")
    var expiration = "0"

    @Option(help: "10, 5 or 1.")
    var priority = "10"

    @OptionGroup var server: ServerOptions

    func validate() throws {
        guard (contentState == nil) != (payload == nil) else {
            throw ValidationError("Name what to send: either --content-state JSON or --payload FILE.")
        }
        guard !end || contentState != nil else { throw ValidationError("--end goes with --content-state.") }
    }

    func run() async throws {
        var request = PushRequest(
            deviceToken: "", topic: nil, payload: ByteBuffer(bytes: try body()), id: id, expiration: expiration,
            priority: priority, pushType: PushType.liveActivity.rawValue)
        request.route = .broadcast(bundleID: bundleID)
        request.channelID = channel
        let broadcast = request
        let place = try server.server(common, environment)
        var configuration = ProviderClient.Configuration()
        configuration.proxy = try server.proxy(to: place)
        let answer = try await ProviderClient.withClient(
            credentials: try credentials.credentials(common), environment: place, configuration: configuration
        ) { client in
            // Send once and show the answer as it is, as carillon send does.
            try await client.send(broadcast, retriesRejections: false)
        }
        common.output.print(answer, timestamp: nil)
        if answer.status != 200 { throw ExitCode.failure }
    }

    private func body() throws -> [UInt8] {
        if let contentState {
            let event = end ? "end" : "update"
            let seconds = Int(Date().timeIntervalSince1970)  // fits: the machine's clock
            let aps = #"{"timestamp":\#(seconds),"event":"\#(event)","content-state":\#(contentState)}"#
            return Array(#"{"aps":\#(aps)}"#.utf8)
        }
        guard let payload, payload != "-" else {
            return JSONValue.withoutMark(try FileHandle.standardInput.readToEnd().map(Array.init) ?? [])
        }
        return JSONValue.withoutMark([UInt8](try InputFile.read(payload, "payload")))
    }
}
