import APNSProvider
import ArgumentParser
import Foundation
import Notifications
import Service

struct FeedbackCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "feedback",
        abstract: "Read the feedback service: device tokens that were sent to after their app was removed.",
        discussion: "What was read is taken off the list. Each app has a list of its own, that of its certificate.",
    )

    @OptionGroup var common: CommonOptions

    @Option(help: "The app's provider certificate with its key, PEM.")
    var certificate: String

    @Option(help: "development or production.")
    var environment = Environment.development

    @Option(help: "Where to read, https://host:port; the running service by default.")
    var url: String?

    @Option(help: "The root certificate that the server is known by, PEM; the system's unless --url is left out.")
    var ca: String?

    func run() async throws {
        let server: APNSEnvironment
        if let url {
            let address = try HostAndPort(url, defaultPort: LegacyPort.feedback)
            server = APNSEnvironment(
                host: address.host, port: address.port, authority: ca.map { .file($0) } ?? .system)
        } else {
            server = try common.runningService().legacy(\.feedback, environment)
        }
        let credentials = try ProviderCredentials(certificateFile: certificate)
        let items = try await FeedbackReader(environment: server, credentials: credentials).read()
        let output = Output(isJSON: common.json)
        for item in items {
            let date = Date(timeIntervalSince1970: Double(item.timestamp)).formatted(.iso8601)
            output.print(
                Entry(token: item.deviceToken, timestamp: item.timestamp), "\(item.deviceToken)  not since \(date)")
        }
        if items.isEmpty, !common.json { Output.note("The list is empty.") }
    }

    private struct Entry: Encodable {
        let token: String
        /// In seconds since 1970, as the service says it (Guide, Table A-5).
        let timestamp: UInt32
    }
}
