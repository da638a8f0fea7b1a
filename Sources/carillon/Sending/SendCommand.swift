import APNSProvider
import ArgumentParser
import CommandSupport
import Foundation
import NIOCore
import Notifications
import Service

struct SendCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "send",
        abstract: "Send a notification, or many with --batch.",
        discussion: """
            Values go to the service unchecked, so that you see its answer. A line of a batch is \
            {"token":…, "topic":…, "payload":{…}, "id":…, "expiration":…, "priority":…, "collapseID":…, "pushType":…}; \
            if a key is missing, the options give the value. With --json each line is answered with \
            {"token":…,"id":…,"status":…,"reason":…,"timestamp":…}. If there was no answer, there is no status, and \
            the reason begins with a small letter: deadlineExceeded, connectionLost, badNotification and so on. \
            Standard error then has an explanation.
            """,
    )

    @OptionGroup var common: CommonOptions
    @OptionGroup var credentials: CredentialOptions

    @Option(help: "The device token, in hexadecimal digits.")
    var token: String?

    @Option(help: "The topic, usually the app's bundle ID.")
    var topic: String?

    @Option(help: "A file with one notification per line; - for standard input.")
    var batch: String?

    @Option(help: "development or production.")
    var environment = Environment.development

    @Flag(help: "Send over the legacy binary API, which takes a provider certificate.")
    var binary = false

    @Option(help: "The text to show.")
    var alert: String?

    @Option(help: "A file with the whole payload, a JSON dictionary; - for standard input.")
    var payload: String?

    @Option(help: "The notification's identifier, a UUID; the service makes one otherwise.")
    var id: String?

    // Accept a value that begins with a hyphen, because the service should decide whether it is valid.
    @Option(parsing: .unconditional, help: "When it is no longer valid, in seconds since 1970; 0 for one attempt.")
    var expiration: String?

    @Option(help: "10, 5 or 1.")
    var priority: String?

    @Option(name: .customLong("collapse-id"), help: "It replaces an earlier notification with the same identifier.")
    var collapseID: String?

    @Option(name: .customLong("push-type"), help: "\(choices(PushNotification.PushType.allCases)).")
    var pushType: String?

    @OptionGroup var server: ServerOptions

    @Option(
        name: .customLong("token-store"),
        help: "A folder in which commands that send with the same signing key share their provider tokens.")
    var tokenStore: String?

    func validate() throws {
        guard tokenStore == nil || credentials.certificate == nil else {
            throw ValidationError("With a --certificate there are no provider tokens for a --token-store.")
        }
        guard !binary || batch == nil else { throw ValidationError("--binary sends one notification, not a batch.") }
        if binary { _ = try certificateForBinary() }
        if batch == nil {
            guard token != nil else { throw ValidationError("Name the device: --token HEX, or a --batch FILE.") }
            guard topic != nil || credentials.certificate != nil else {
                throw ValidationError("Name the --topic, usually the app's bundle ID.")
            }
            guard (alert == nil) != (payload == nil) else {
                throw ValidationError("Name what to send: either --alert TEXT or --payload FILE.")
            }
        } else {
            guard token == nil, id == nil else {
                throw ValidationError("A batch names the tokens and identifiers itself.")
            }
            guard alert == nil || payload == nil else { throw ValidationError("Name either --alert or --payload.") }
            guard batch != "-" || payload != "-" else {
                throw ValidationError("Standard input cannot be both the batch and the payload.")
            }
        }
    }

    func run() async throws {
        if binary {
            try await sendBinary()
        } else if let batch {
            let sending = try SendBatch(
                path: batch, defaults: try template(), output: common.output)
            let place = try server.server(common, environment)
            try await sending.run(
                credentials: try credentials.credentials(common), environment: place,
                configuration: try configuration(for: place))
        } else {
            try await sendOne()
        }
    }

    private func sendOne() async throws {
        let push = try template()
        let place = try server.server(common, environment)
        let answer = try await ProviderClient.withClient(
            credentials: try credentials.credentials(common), environment: place,
            configuration: try configuration(for: place)
        ) { client in
            // Send only once, so that the answer is shown as the service gave it.
            try await client.send(push, retriesRejections: false)
        }
        common.output.print(answer, timestamp: answer.timestamp)
        guard answer.status != 200 else { return }
        if !common.json, let advice = Advice.onClock(answer) { Output.printDiagnostic(advice) }
        // With `--url` it is not known which environment the server belongs to.
        if server.url == nil, !common.json, let advice = Advice.onRefusal(answer, in: environment) {
            Output.printDiagnostic(advice)
        }
        throw ExitCode.failure
    }

    private func configuration(for place: APNSEnvironment) throws -> ProviderClient.Configuration {
        var configuration = ProviderClient.Configuration()
        configuration.proxy = try server.proxy(to: place)
        if let folder = tokenStore { configuration.tokenStore = FileProviderTokenStore(folder: folder) }
        return configuration
    }

    /// The notification as the options describe it.
    private func template() throws -> PushRequest {
        PushRequest(
            deviceToken: token ?? "", topic: topic, payload: ByteBuffer(bytes: try body()), id: id,
            expiration: expiration, priority: priority, collapseID: collapseID,
            pushType: pushType ?? (alert == nil ? nil : "alert"))
    }

    func body() throws -> [UInt8] {
        if let alert { return Array(#"{"aps":{"alert":\#(JSONString.quoted(alert))}}"#.utf8) }
        guard let payload else { return [] }
        do {
            let file =
                payload == "-"
                ? FileHandle.standardInput : try FileHandle(forReadingFrom: URL(fileURLWithPath: payload))
            return JSONValue.withoutMark(try file.readToEnd().map(Array.init) ?? [])
        } catch {
            throw CommandError("The payload \(payload) cannot be read: \(DataFolder.reason(error)).")
        }
    }
}
