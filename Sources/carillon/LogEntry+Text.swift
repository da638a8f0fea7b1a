import DeliveryLogFiles
import Foundation
import Notifications

extension LogEntry {
    /// One line for people.
    var text: String {
        // Half a millisecond more, so that rounding never shows one millisecond less.
        let date = Date(timeIntervalSince1970: (Double(time.milliseconds) + 0.5) / 1000)
        var text = date.formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true))
        text += "  " + event.padding(toLength: 12, withPad: " ", startingAt: 0)
        if let lost { return text + "\(lost) events" }
        if let notification { text += "  \(notification)" }
        if !topic.isEmpty { text += "  " + topic }
        if let token { text += "  " + token.prefix(8) + "…" }
        if let detail { text += "  \(detail.name) \(detail.value)" }
        return text
    }
}
