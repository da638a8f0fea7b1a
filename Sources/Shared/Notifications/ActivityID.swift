/// Identifies a Live Activity on a device: a UUID that the device chooses.
package struct ActivityID: Sendable, Hashable, CustomStringConvertible {
    private let uuid: NotificationID

    package init(high: UInt64, low: UInt64) { uuid = NotificationID(high: high, low: low) }

    /// - Returns: nil unless the text is a UUID, in upper or lower case.
    package init?(_ text: String) {
        guard let uuid = NotificationID(text) else { return nil }
        self.uuid = uuid
    }

    package var high: UInt64 { uuid.high }
    package var low: UInt64 { uuid.low }
    /// The lower-case canonical form.
    package var text: InlineArray<36, UInt8> { uuid.text }
    package var description: String { text.span.text }
}

/// Which Live Activities a push may change, because of the device token that the provider used.
package enum ActivityTarget: Sendable, Hashable {
    /// The device token that starts Live Activities. It can change none that is already on show.
    case start
    /// A Live Activity's own device token.
    case one(ActivityID)
}

/// A notification's push type together with the Live Activities that it may change, in the one text that stores keep:
/// `liveactivity.` and the UUID, or `liveactivity.start`. An earlier release reads the text as a push type that it does
/// not know.
package struct StoredPushType: Sendable, Hashable {
    private static let start = "start"

    package let pushType: PushType?
    package let activity: ActivityTarget?

    package init(_ notification: Notification) {
        pushType = notification.pushType
        activity = notification.activity
    }

    /// - Returns: nil for text that no release writes.
    package init?(_ text: String) {
        let parts = text.split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2, let activity = Self.activity(parts[1]) else {
            guard let type = PushType(stored: text) else { return nil }
            pushType = type
            self.activity = nil
            return
        }
        self.activity = activity
        guard !parts[0].isEmpty else {
            pushType = nil
            return
        }
        guard let type = PushType(stored: String(parts[0])) else { return nil }
        pushType = type
    }

    private static func activity(_ text: Substring) -> ActivityTarget? {
        text == start ? .start : ActivityID(String(text)).map { .one($0) }
    }

    /// Nil if there is neither.
    package var text: String? {
        switch activity {
        case .start: "\(pushType?.rawValue ?? "").\(Self.start)"
        case .one(let id): "\(pushType?.rawValue ?? "").\(id)"
        case nil: pushType?.rawValue
        }
    }
}
