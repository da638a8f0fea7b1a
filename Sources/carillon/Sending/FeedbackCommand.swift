import APNSProvider
import ArgumentParser
import CommandSupport
import Foundation
import Notifications
import Service
import UnixSignals

struct FeedbackCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "feedback",
        abstract: "Read the feedback service: device tokens whose app was removed, if somebody has sent to them since.",
        discussion: """
            The service removes what was read from the list. Each app has its own list; the certificate selects it. \
            The Guide asks for one reading a day (3.1.3): with --every 24 the command keeps running and does that.
            """,
    )

    @OptionGroup var common: CommonOptions

    @Option(help: "The app's provider certificate with its key, PEM.")
    var certificate: String

    @Option(help: "development or production.")
    var environment = Environment.development

    @OptionGroup var server: ServerOptions

    @Option(help: "Read the list again after this many hours, until SIGTERM; without it the list is read once.")
    var every: Double?

    func validate() throws {
        // More than one reading a minute is not worth a connection each.
        guard every.map({ $0 >= 1.0 / 60 && $0 <= 8_784 }) ?? true else {
            throw ValidationError("--every takes hours, from a minute (0.017) to a year (8,784).")
        }
    }

    func run() async throws {
        let reader = try reader()
        guard let every else { return try await read(reader, isOnce: true) }
        let signals = await UnixSignalsSequence(trapping: .sigterm, .sigint)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                while true {
                    do {
                        try await read(reader, isOnce: false)
                    } catch let error as ProviderError where error.code != .badCredentials {
                        // The service keeps the list until it is read, so the next attempt gets it.
                        Output.printDiagnostic(Advice.onFailure(error) ?? error.cause)
                    }
                    try await Task.sleep(for: .seconds(every * 3_600))  // fits: a Double, at most a year of hours
                }
            }
            group.addTask { for await _ in signals { break } }
            defer { group.cancelAll() }
            try await group.next()
        }
    }

    private func reader() throws -> FeedbackReader {
        let place = try server.legacy(\.feedback, port: LegacyPort.feedback, common, environment)
        return FeedbackReader(
            environment: place, credentials: try ProviderCredentials(certificateFile: certificate),
            proxy: try server.proxy(to: place))
    }

    private func read(_ reader: FeedbackReader, isOnce: Bool) async throws {
        let items = try await reader.read()
        let output = common.output
        for item in items {
            let date = Date(timeIntervalSince1970: Double(item.timestamp)).formatted(.iso8601)
            output.print(
                Entry(token: item.deviceToken, timestamp: item.timestamp), "\(item.deviceToken)  not since \(date)")
        }
        if items.isEmpty, isOnce, !common.json { Output.printDiagnostic("The list is empty.") }
    }

    private struct Entry: Encodable {
        let token: String
        /// When the app was removed, in seconds since 1970 (Guide, Table A-5).
        let timestamp: UInt32
    }
}
