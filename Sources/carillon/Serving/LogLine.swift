import Foundation
import Notifications

/// An entry of the delivery log, read from its JSON, to show it to people.
struct LogLine: Decodable {
    private let time: UInt64
    private let event: String
    private let id: String?
    private let topic: String?
    private let token: String?
    private let status: Int?
    private let reason: String?
    private let own: String?
    private let by: String?
    private let into: String?
    private let count: UInt64?

    /// - Parameter json: in the form of ``LogEntry/json``.
    /// - Returns: nil if it is not an entry.
    init?(_ json: some StringProtocol) {
        guard let line = try? JSONValue.decode(json.utf8, as: LogLine.self) else { return nil }
        self = line
    }

    var text: String {
        // Add half a millisecond, because rounding may otherwise show one millisecond less.
        let date = Date(timeIntervalSince1970: (Double(time) + 0.5) / 1000)
        var text = date.formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true))
        text += "  " + event.padding(toLength: 12, withPad: " ", startingAt: 0)
        if let count { return text + "\(count) events" }
        if let id { text += "  \(id)" }
        if let topic { text += "  " + topic }
        if let token { text += "  " + token.prefix(8) + "…" }
        if let status { text += "  status \(status)" }
        for (name, value) in [("reason", reason), ("own", own), ("by", by), ("into", into)] {
            if let value { text += "  \(name) \(value)" }
        }
        return text
    }
}
