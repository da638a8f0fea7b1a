package import APNSDevice
import Foundation
import Notifications

/// A JSON dictionary on one line, built key by key. A nil value leaves its key out.
package struct JSONLine: Sendable {
    private var members: [String]

    package init(event: String) { members = [#""event":"\#(event)""#] }

    package mutating func add(_ key: String, _ text: String?) {
        if let text { add(key, json: JSONString.quoted(text)) }
    }

    /// Adds a value that consists of text and finite numbers.
    package mutating func add(_ key: String, value: (some Encodable)?) {
        guard let value else { return }
        // Such a value can always be encoded.
        if let value = try? JSONValue(encoding: value) { add(key, json: value.text) }
    }

    /// - Parameter json: on one line.
    package mutating func add(_ key: String, json: String) { members.append("\"\(key)\":\(json)") }

    /// Adds the keys of a notification on the device's stream (docs/device-protocol.md), except `sending`.
    package mutating func add(_ notification: ReceivedNotification) {
        add("id", notification.id)
        add("topic", notification.topic)
        add("bundleID", notification.bundleID)
        add("priority", value: notification.priority)
        add("expiration", value: notification.expiration)
        add("collapseID", notification.collapseID)
        add("pushType", notification.pushType)
        add("channel", notification.channel)
        add("activity", notification.activity)
        if notification.startToken { add("startToken", value: true) }
        if let webPush = notification.webPush {
            add("subscription", webPush.subscription)
            add("webPush", value: WebPushLine(webPush))
        } else {
            add("payload", json: String(decoding: notification.payload, as: UTF8.self))
        }
    }

    /// Adds what is known of a Live Activity. Times are in seconds since 1970.
    package mutating func add(_ activity: LiveActivity) {
        add("activity", activity.id.uuidString.lowercased())
        add("bundleID", activity.bundleID)
        add("attributesType", activity.attributesType)
        add("attributes", json: String(decoding: activity.attributes, as: UTF8.self))
        add("contentState", json: String(decoding: activity.contentState, as: UTF8.self))
        add("relevanceScore", value: activity.relevanceScore)
        add("stale", value: activity.isStale)
        add("staleDate", value: activity.staleDate.map { $0.timeIntervalSince1970 })
        add("dismissal", value: activity.dismissal.map { $0.timeIntervalSince1970 })
        if case .channel(let channel) = activity.updates { add("channel", channel) }
    }

    package var text: String { "{\(members.joined(separator: ","))}" }
}
