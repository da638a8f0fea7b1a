import APNSDevice
import Foundation
import Notifications

/// A JSON dictionary on one line, built key by key. A nil value leaves its key out.
struct JSONLine {
    private var members: [String]

    init() { members = [] }
    init(event: String) { members = [#""event":"\#(event)""#] }

    mutating func add(_ key: String, _ text: String?) {
        if let text { add(key, json: JSONString.quoted(text)) }
    }

    /// Adds a value that consists of text and finite numbers.
    mutating func add(_ key: String, value: (some Encodable)?) {
        guard let value else { return }
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.withoutEscapingSlashes, .sortedKeys]
        // Such a value can always be encoded.
        if let data = try? encoder.encode(value) { add(key, json: String(decoding: data, as: UTF8.self)) }
    }

    /// - Parameter json: on one line.
    mutating func add(_ key: String, json: String) { members.append("\"\(key)\":\(json)") }

    /// Adds the keys of a notification on the device's stream (docs/device-protocol.md), except `sending`.
    mutating func add(_ notification: ReceivedNotification) {
        add("id", notification.id)
        add("topic", notification.topic)
        add("bundleID", notification.bundleID)
        add("priority", value: notification.priority)
        add("expiration", value: notification.expiration)
        add("collapseID", notification.collapseID)
        add("pushType", notification.pushType)
        add("channel", notification.channel)
        add("payload", json: String(decoding: notification.payload, as: UTF8.self))
    }

    var text: String { "{\(members.joined(separator: ","))}" }
}
