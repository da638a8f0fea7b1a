import ArgumentParser
import Delivery
import DeliveryLogFiles
import Foundation
import Notifications
import Service

/// Shows the life of notifications: as the service tells it, or from the files of the delivery log if no service runs.
struct LogCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "log",
        abstract: "Show what became of notifications.",
    )

    @OptionGroup var common: CommonOptions

    @Flag(help: "Continue with what happens, until interrupted.")
    var follow = false

    @Option(help: "Only the notification with this identifier (apns-id).")
    var id: String?

    @Option(help: "Only notifications to this device token, in hexadecimal digits.")
    var token: String?

    /// How often files are looked at for more: a person sees it at once.
    private static let pause = Duration.milliseconds(100)

    func validate() throws {
        if let id, NotificationID(id) == nil { throw ValidationError("\(id) is no UUID.") }
        if let token, token.isEmpty || !token.utf8.allSatisfy({ Hexadecimal.value(of: $0) != nil }) {
            throw ValidationError("\(token) is no device token in hexadecimal digits.")
        }
    }

    func run() async throws {
        let client: ManagementClient
        do {
            client = try common.management()
        } catch is ServiceError {
            // No service runs on the folder.
            return try await readFiles()
        }
        do {
            try await client.lines(path) { line in
                guard let entry = LogLine(line) else { return }
                Output(isJSON: common.json).printRaw(String(line), entry.text)
            }
        } catch is ManagementClient.NotReached where client.isLocal {
            // The service was killed, and could not say that it has ended.
            try await readFiles()
        }
    }

    private var path: String {
        var query: [String] = []
        if follow { query.append("follow=true") }
        if let id { query.append("id=\(id)") }
        if let token { query.append("token=\(token)") }
        return "/v1/log" + (query.isEmpty ? "" : "?" + query.joined(separator: "&"))
    }

    /// Reads the files of a service that does not run.
    private func readFiles() async throws {
        let folder = common.folder
        guard FileManager.default.fileExists(atPath: folder.path) else {
            throw CommandError("There is no data folder \(folder.path); name one with --data.")
        }
        let names = try await DeviceTokenNames(folder)
        var reader = DeliveryLogReader(folder: folder.logFolder)
        let (id, token) = (id.flatMap { NotificationID($0) }, token?.lowercased())
        let output = Output(isJSON: common.json)
        repeat {
            try reader.read { record in
                let entry = LogEntry(record) { names.token($0, key: $1) }
                guard id == nil || entry.notification == id, token == nil || entry.token == token else { return }
                output.printRaw(entry.json, LogLine(entry.json)?.text ?? entry.json)
            }
            if follow { try await Task.sleep(for: Self.pause) }
        } while follow
    }
}
