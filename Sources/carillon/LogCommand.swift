import ArgumentParser
import Delivery
import DeliveryLogFiles
import Foundation
import Notifications
import Service

/// Shows the life of notifications, from the files of the delivery log: the service need not run.
struct LogCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "log",
        abstract: "Show what became of notifications.",
    )

    @OptionGroup var common: CommonOptions

    @Flag(help: "Go on showing what happens, until interrupted.")
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
        let folder = common.folder
        guard FileManager.default.fileExists(atPath: folder.path) else {
            throw CommandError("There is no data folder \(folder.path); name one with --data.")
        }
        var tokens = try await DeliveryLogTokens(folder)
        var reader = DeliveryLogReader(folder: folder.logFolder)
        let (id, token) = (id.flatMap { NotificationID($0) }, token?.lowercased())
        let output = Output(isJSON: common.json)
        repeat {
            try reader.read { record in
                let entry = LogEntry(record) { tokens.token($0, key: $1) }
                guard id == nil || entry.notification == id, token == nil || entry.token == token else { return }
                output.printRaw(entry.json, entry.text)
            }
            if follow { try await Task.sleep(for: Self.pause) }
        } while follow
    }
}
