import Notifications

// What `strict` says of an alert, and of keys that need another one (Guide, Tables 9-1 and 9-2).
extension StrictPayload {
    /// The kinds of values that the keys of an alert may have.
    private enum Value {
        case text
        case texts
        case number
        /// The same, or null, which counts as missing (Table 9-2).
        case textOrNull
        case textsOrNull
    }

    private static let keys: [String: Value] = [
        "title": .text, "subtitle": .text, "body": .text, "launch-image": .text,
        "title-loc-key": .textOrNull, "title-loc-args": .textsOrNull, "subtitle-loc-key": .text,
        "subtitle-loc-args": .texts,
        "loc-key": .text, "loc-args": .texts, "action-loc-key": .textOrNull, "action": .text,
        "summary-arg": .text, "summary-arg-count": .number,
    ]

    /// Checks the dictionary of an alert. A text is always right.
    static func alert(_ aps: JSONObject, for type: PushType?) -> String? {
        guard let raw = aps[raw: "alert"], Kind(raw) == .dictionary else { return nil }
        guard let alert = JSONObject(raw) else {
            return "aps.alert has a key twice, or more than \(JSONObject.maximumKeys) keys."
        }
        for name in alert.keys {
            guard let value = alert[raw: name] else { continue }
            if type == .liveActivity, let isRight = isRightForActivity(name, value) {
                if isRight { continue }
                return name == "sound"
                    ? "aps.alert.sound must be a string."
                    : "aps.alert.\(name) must be a string or a dictionary with loc-key and loc-args."
            }
            guard let expected = keys[name] else { return "aps.alert.\(name) is not a key of an alert." }
            switch expected {
            case .textOrNull where Kind(value) == .null, .textsOrNull where Kind(value) == .null: break
            case .text where Kind(value) != .string, .textOrNull where Kind(value) != .string:
                return "aps.alert.\(name) must be a string."
            case .number where Kind(value) != .number: return "aps.alert.\(name) must be a number."
            case .texts where !areTexts(value), .textsOrNull where !areTexts(value):
                return "aps.alert.\(name) must be an array of strings."
            default: break
            }
        }
        return nil
    }

    /// In the alert of a Live Activity, a title or a body may be localized by a dictionary, and the sound is inside.
    /// - Returns: nil if the key is the same as in other alerts.
    private static func isRightForActivity(_ name: String, _ value: [UInt8]) -> Bool? {
        switch name {
        case "sound": return Kind(value) == .string
        case "title", "body":
            guard Kind(value) == .dictionary else { return Kind(value) == .string }
            guard let text = JSONObject(value) else { return false }
            return text.keys.allSatisfy { key in
                guard let part = text[raw: key] else { return false }
                return key == "loc-key" ? Kind(part) == .string : key == "loc-args" && areTexts(part)
            }
        default: return nil
        }
    }

    private static func areTexts(_ value: [UInt8]) -> Bool {
        guard Kind(value) == .array, case .array(let values)? = JSONValue(any: value) else { return false }
        return values.allSatisfy { if case .string = $0 { true } else { false } }
    }

    /// Checks the keys that only make sense together with others.
    static func combination(_ aps: JSONObject, _ members: JSONMembers, for type: PushType?) -> String? {
        if aps[raw: "content-available"] != nil, aps[double: "content-available"] != 1 {
            return "aps.content-available must be 1."
        }
        if type == .liveActivity, let fault = ActivityFault(in: members) { return fault.description }
        let isSeen = ["alert", "badge", "sound"].contains { aps[raw: $0] != nil }
        if type == .background, aps[raw: "content-available"] == nil {
            return "aps has no content-available, which a background notification needs."
        }
        if type == .alert, !isSeen {
            return "aps has no alert, badge or sound, one of which the push type alert needs."
        }
        if type == .alert, !isNoticed(members) {
            return "aps shows nothing: its alert has no text, and its sound no name."
        }
        for name in ["category", "mutable-content"] where aps[raw: name] != nil && aps[raw: "alert"] == nil {
            return "aps.\(name) needs aps.alert."
        }
        return nil
    }

    /// Whether a person sees or hears something: "the push notification must trigger an alert, sound, or badge" (Guide,
    /// Table 8-2).
    private static func isNoticed(_ aps: JSONMembers) -> Bool {
        if aps["badge"] != nil || aps["alert"].map(AlertText.isShown) ?? false { return true }
        switch aps["sound"] {
        case .string(let name)?: return !name.isEmpty
        // A dictionary without a name plays the default sound.
        case .object(let sound)?: return sound["name"]?.string.map { !$0.isEmpty } ?? true
        default: return false
        }
    }
}
