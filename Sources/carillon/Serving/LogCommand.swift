import ArgumentParser
import CommandSupport
import Delivery
import DeliveryLogFiles
import Foundation
import HTTPAPIClient
import Notifications
import Service

/// Shows what happened to notifications. It asks the running service. If no service runs, it reads the delivery log's
/// files.
struct LogCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "log",
        abstract: "Show what happened to notifications.",
    )

    @OptionGroup var common: CommonOptions

    @Flag(help: "Also show later events, until interrupted.")
    var follow = false

    @Option(help: "Only the notification with this identifier (apns-id).")
    var id: String?

    @Option(help: "Only notifications to this device token, in hexadecimal digits.")
    var token: String?

    /// How often the files are checked for new events. A person does not notice the delay.
    private static let pause = Duration.milliseconds(100)

    func validate() throws {
        if let id, NotificationID(id) == nil { throw ValidationError("\(id) is not a UUID.") }
        if let token, token.isEmpty || !token.utf8.allSatisfy({ Hexadecimal.value(of: $0) != nil }) {
            throw ValidationError("\(token) is not a device token in hexadecimal digits.")
        }
    }

    func run() async throws {
        let client: APIClient
        do {
            client = try common.management(isPatient: false)
        } catch is ServiceError {
            // No service runs with this folder, or it is still starting. The files have what happened.
            return try await readFiles()
        }
        do {
            try await client.lines(path) { line in
                guard let entry = LogLine(line) else { return printUnanswered(line) }
                common.output.printRaw(String(line), entry.text)
            }
        } catch is ServiceNotReached where client.isLocal {
            // The service was killed, so its stream ended early. Read the rest from the files.
            try await readFiles()
        }
    }

    /// Prints which nodes of a cluster did not answer.
    private func printUnanswered(_ line: Substring) {
        guard case .array(let names)? = JSONValue(Array(line.utf8))?.members["unanswered"] else { return }
        let nodes = names.compactMap(\.string)
        Output.printDiagnostic(
            "What these nodes have logged is missing, because they did not answer: \(nodes.joined(separator: ", "))")
    }

    private var path: String {
        var query: [String] = []
        if follow { query.append("follow=true") }
        if let id { query.append("id=\(id)") }
        if let token { query.append("token=\(token)") }
        return "/v1/log" + (query.isEmpty ? "" : "?" + query.joined(separator: "&"))
    }

    /// Reads the delivery log's files without a service.
    private func readFiles() async throws {
        let folder = common.folder
        guard FileManager.default.fileExists(atPath: folder.path) else {
            throw CommandError("There is no data folder \(folder.path); name one with --data.")
        }
        let names = try await DeviceTokenNames(folder)
        var reader = DeliveryLogReader(folder: folder.logFolder)
        let (id, token) = (id.flatMap { NotificationID($0) }, token?.lowercased())
        let output = common.output
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
