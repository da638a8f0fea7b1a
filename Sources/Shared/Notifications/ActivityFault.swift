/// Why every device ignores a push for a Live Activity, whichever Live Activities it shows (Apple, *Starting and updating
/// Live Activities with ActivityKit push notifications*; docs/channels.md). The device, `strict` and the report share this
/// rule.
package enum ActivityFault: Sendable, Hashable {
    /// `event` is missing, or none of the known events.
    case event
    /// `timestamp` is missing, or no number of seconds.
    case timestamp
    /// A key that the event needs is missing.
    case key(String, ActivityEvent)
    /// A Live Activity starts with an alert that shows a text.
    case alert

    /// - Parameter aps: the payload's `aps` dictionary.
    /// - Returns: nil if a device can carry out the push.
    package init?(in aps: JSONMembers) {
        func isObject(_ key: String) -> Bool { if case .object? = aps[key] { true } else { false } }
        guard let event = aps["event"]?.string.flatMap(ActivityEvent.init) else {
            self = .event
            return
        }
        guard aps["timestamp"]?.double != nil else {
            self = .timestamp
            return
        }
        if event == .start {
            if aps["attributes-type"]?.string == nil {
                self = .key("attributes-type", event)
                return
            }
            if !isObject("attributes") {
                self = .key("attributes", event)
                return
            }
        }
        if event != .end, !isObject("content-state") {
            self = .key("content-state", event)
            return
        }
        guard event == .start, !(aps["alert"].map(AlertText.isShown) ?? false) else { return nil }
        self = .alert
    }
}

/// The change of a Live Activity that a push asks for.
package enum ActivityEvent: String, Sendable, Hashable, CaseIterable {
    case start, update, end
}

extension ActivityFault: CustomStringConvertible {
    package var description: String {
        switch self {
        case .event:
            "aps has no event, which a Live Activity needs: "
                + ActivityEvent.allCases.map(\.rawValue).joined(separator: ", ") + "."
        case .timestamp: "aps has no timestamp, which a Live Activity needs: devices ignore a push without one."
        case .key(let key, let event): "aps has no \(key), which the event \(event.rawValue) of a Live Activity needs."
        case .alert: "aps has no alert with a text, without which devices do not start a Live Activity."
        }
    }
}
