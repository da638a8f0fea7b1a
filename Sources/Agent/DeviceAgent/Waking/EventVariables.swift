import Foundation
import Notifications

/// What a command gets of a notification: the payload on its standard input, and the rest in environment variables. No
/// text of a notification is an argument, because all users of a machine can see those.
package enum EventVariables {
    /// The keys of an event, and the variables that have their values.
    private static let keys = [
        ("id", "ID"), ("topic", "TOPIC"), ("bundleID", "BUNDLE_ID"), ("priority", "PRIORITY"),
        ("expiration", "EXPIRATION"), ("collapseID", "COLLAPSE_ID"), ("pushType", "PUSH_TYPE"), ("channel", "CHANNEL"),
        ("activity", "ACTIVITY"), ("event", "EVENT"), ("service", "SERVICE"), ("response", "RESPONSE"),
        ("action", "ACTION"), ("token", "TOKEN"),
    ]

    /// The search path of commands. It does not depend on how the agent was started.
    private static let path = "/usr/local/bin:/usr/bin:/bin"

    /// The variables of this process that a command keeps: who its user is, and where the user's bus is.
    private static let inherited = ["HOME", "USER", "LOGNAME", "LANG", "XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS"]

    /// The variables that every command has.
    package static var base: [String: String] {
        let own = ProcessInfo.processInfo.environment.filter { inherited.contains($0.key) }
        return own.merging(["PATH": path]) { $1 }
    }

    /// - Parameter line: an event as one JSON object.
    package static func notification(_ line: [UInt8]) -> [String: String] {
        var variables: [String: String] = [:]
        guard let object = JSONObject(line) else { return variables }
        for (key, name) in keys {
            // A variable cannot have a NUL character.
            let text = object[text: key] ?? object[raw: key].map { String(decoding: $0, as: UTF8.self) }
            if let text, !text.utf8.contains(0) { variables["CARILLON_NOTIFICATION_" + name] = text }
        }
        return variables
    }

    static func of(_ event: QueuedEvent, bundleID: String, socket: String?) -> [String: String] {
        var variables = base.merging(notification(event.text)) { $1 }
        variables["CARILLON_NOTIFICATION_DELIVERY"] = "\(event.delivery)"
        variables["CARILLON_NOTIFICATION_BUNDLE_ID"] = bundleID
        variables["CARILLON_AGENT_SOCKET"] = socket
        return variables
    }

    /// The payload of the notification; the whole event if it has none, such as a new device token.
    static func payload(of event: QueuedEvent) -> [UInt8] {
        JSONObject(event.text)?[raw: "payload"] ?? event.text
    }
}
