import Delivery
import DeliveryLogFiles
import Foundation
import Notifications
import Service

/// One line of `carillon log`.
struct DeliveryLogLine {
    private let time: Timestamp
    private let event: String
    private let topic: String
    /// What else there is to say: its name and its value.
    private var more: (name: String, value: String)?
    private var lost: UInt64?
    let notification: NotificationID?
    /// In hexadecimal digits; nil where it is not known.
    let token: String?

    init(_ record: LogRecord, _ tokens: inout DeliveryLogTokens) {
        switch record {
        case .lost(let count, let time):
            self.time = time
            event = "lost"
            topic = ""
            lost = count
            notification = nil
            token = nil
        case .event(let event, let tokenKey):
            time = event.time
            topic = event.subject.topic
            notification = event.subject.id
            token = tokens.token(event.subject.address, key: tokenKey)
            self.event = event.step.kind.name
            switch event.step {
            case .rejected(let reason): more = ("reason", reason.rawValue)
            case .replaced(let id): more = ("by", "\(id)")
            case .coalesced(let id): more = ("into", "\(id)")
            case .discarded(let reason): more = ("reason", reason.rawValue)
            case .accepted, .stored, .deferred, .throttled, .sent, .acknowledged, .expired: break
            }
        }
    }

    /// `time` is in milliseconds since 1970, as the provider API's `timestamp`. What is not known is left out.
    var json: String {
        var text = #"{"time":\#(time.milliseconds),"event":"\#(event)""#
        if let notification { text += #","id":"\#(notification)""# }
        if let token { text += #","token":"\#(token)""# }
        if !topic.isEmpty { text += #","topic":\#(JSONString.quoted(topic))"# }
        if let more { text += #","\#(more.name)":"\#(more.value)""# }
        if let lost { text += #","count":\#(lost)"# }
        return text + "}"
    }

    var text: String {
        // Half a millisecond more, so that no rounding shows one less.
        let date = Date(timeIntervalSince1970: (Double(time.milliseconds) + 0.5) / 1000)
        var text = date.formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true))
        text += "  " + event.padding(toLength: 12, withPad: " ", startingAt: 0)
        if let lost { return text + "\(lost) events" }
        if let notification { text += "  \(notification)" }
        if !topic.isEmpty { text += "  " + topic }
        if let token { text += "  " + token.prefix(8) + "…" }
        if let more { text += "  \(more.name) \(more.value)" }
        return text
    }
}
