import Notifications

// What `strict` says of an alert, and of keys that need another one (Guide, Tables 9-1 and 9-2).
extension StrictPayload {
    /// The kinds of values that the keys of an alert may have.
    private enum Value {
        case text
        case texts
        case number
    }

    private static let keys: [String: Value] = [
        "title": .text, "subtitle": .text, "body": .text, "launch-image": .text,
        "title-loc-key": .text, "title-loc-args": .texts, "subtitle-loc-key": .text, "subtitle-loc-args": .texts,
        "loc-key": .text, "loc-args": .texts, "action-loc-key": .text, "action": .text,
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
            case .text where Kind(value) != .string: return "aps.alert.\(name) must be a string."
            case .number where Kind(value) != .number: return "aps.alert.\(name) must be a number."
            case .texts where !areTexts(value): return "aps.alert.\(name) must be an array of strings."
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
    static func combination(_ aps: JSONObject, for type: PushType?) -> String? {
        if aps[raw: "content-available"] != nil, aps[double: "content-available"] != 1 {
            return "aps.content-available must be 1."
        }
        let isSeen = ["alert", "badge", "sound"].contains { aps[raw: $0] != nil }
        if type == .background, aps[raw: "content-available"] == nil {
            return "aps has no content-available, which a background notification needs."
        }
        if type == .alert, !isSeen {
            return "aps has no alert, badge or sound, one of which the push type alert needs."
        }
        for name in ["category", "mutable-content"] where aps[raw: name] != nil && aps[raw: "alert"] == nil {
            return "aps.\(name) needs aps.alert."
        }
        return nil
    }
}
