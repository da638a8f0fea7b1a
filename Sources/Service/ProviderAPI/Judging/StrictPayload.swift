import Notifications

/// The rules of `strict` for the keys of payloads: Table 9-1 of the Guide and later keys (docs/current-apns.md).
/// Devices ignore unknown keys, so without these rules a misspelt key would not be noticed.
enum StrictPayload {
    /// Checks a payload.
    /// - Parameters:
    ///   - body: a JSON dictionary with an `aps` dictionary.
    ///   - type: the push type; nil if the request has none.
    /// - Returns: A sentence that says what is wrong, and where; nil if nothing is.
    static func fault(in body: [UInt8], for type: PushType?) -> String? {
        guard let payload = JSONObject(body), let aps = payload[object: "aps"] else {
            return "The payload or its aps dictionary has a key twice, or more than \(JSONObject.maximumKeys) keys."
        }
        if let fault = misplaced(payload, aps) { return fault }
        for name in aps.keys {
            guard let raw = aps[raw: name] else { continue }
            guard let member = Member.all[name] else { return "aps.\(name) is not a key of the aps dictionary." }
            if !member.values.contains(Kind(raw)) { return "aps.\(name) must be \(member.described)." }
            if let allowed = member.choices, let text = aps[text: name], !allowed.contains(text) {
                return "aps.\(name) is \(text); it must be one of \(allowed.joined(separator: ", "))."
            }
            if let type, !member.types.contains(type) {
                let types = member.types.map(\.rawValue).joined(separator: ", ")
                return "aps.\(name) is not for the push type \(type.rawValue), but for \(types)."
            }
        }
        // The relevance score of a Live Activity may be any number.
        if type != .liveActivity, aps[raw: "relevance-score"] != nil, !isShare(aps[double: "relevance-score"]) {
            return "aps.relevance-score must be a number from 0 to 1."
        }
        let members = JSONValue(body)?.members["aps"]?.members ?? [:]
        return sound(aps) ?? alert(aps, for: type) ?? combination(aps, members, for: type)
    }

    private static func isShare(_ number: Double?) -> Bool { number.map { (0...1).contains($0) } ?? false }

    /// Finds keys that are in the wrong place, and belong in `aps` or in a header.
    private static func misplaced(_ payload: JSONObject, _ aps: JSONObject) -> String? {
        if payload[raw: "thread-id"] != nil { return "thread-id is beside aps; it is a key of the aps dictionary." }
        for name in ["collapse-id", "apns-collapse-id"] where payload[raw: name] != nil || aps[raw: name] != nil {
            return "\(name) is in the payload; the collapse identifier is the header apns-collapse-id."
        }
        return nil
    }

    /// Checks the dictionary of a critical alert's sound.
    private static func sound(_ aps: JSONObject) -> String? {
        guard let sound = aps[object: "sound"] else { return nil }
        let kinds: [String: Set<Kind>] = ["critical": [.number], "name": [.string], "volume": [.number]]
        for name in sound.keys {
            guard let allowed = kinds[name] else { return "aps.sound.\(name) is not a key of a sound." }
            guard let raw = sound[raw: name], allowed.contains(Kind(raw)) else {
                return "aps.sound.\(name) must be \(Kind.described(allowed))."
            }
        }
        guard sound[raw: "volume"] != nil, !isShare(sound[double: "volume"]) else { return nil }
        return "aps.sound.volume must be a number from 0 to 1."
    }
}

extension StrictPayload {
    /// The type of a JSON value.
    enum Kind: String, CaseIterable {
        case string, number, dictionary, array, boolean, null

        /// - Parameter raw: the value as JSON text.
        init(_ raw: [UInt8]) {
            self =
                switch raw.first {
                case UInt8(ascii: "\""): .string
                case UInt8(ascii: "{"): .dictionary
                case UInt8(ascii: "["): .array
                case UInt8(ascii: "t"), UInt8(ascii: "f"): .boolean
                case UInt8(ascii: "n"): .null
                default: .number
                }
        }

        static func described(_ kinds: Set<Kind>) -> String {
            allCases.filter(kinds.contains).map { "a \($0.rawValue)" }.joined(separator: " or ")
        }
    }

    /// A member of the `aps` dictionary.
    struct Member {
        let values: Set<Kind>
        let types: [PushType]
        /// The allowed texts; nil if every value of the type is allowed.
        var choices: [String]?

        var described: String { Kind.described(values) }

        private static let shown = PushType.Known.allCases.filter(\.mayBeShown).map { PushType($0) }
        private static let liveActivity: [PushType] = [.liveActivity]
        private static let updates: [PushType] = [.widgets, .controls]

        /// The members by name.
        static let all: [String: Member] = [
            "alert": Member(values: [.string, .dictionary], types: shown),
            "badge": Member(values: [.number], types: shown),
            "sound": Member(values: [.string, .dictionary], types: shown),
            "category": Member(values: [.string], types: shown),
            "thread-id": Member(values: [.string], types: shown),
            "mutable-content": Member(values: [.number], types: shown),
            "target-content-id": Member(values: [.string], types: shown),
            "interruption-level": Member(
                values: [.string], types: shown, choices: ["passive", "active", "time-sensitive", "critical"]),
            "relevance-score": Member(values: [.number], types: shown),
            "filter-criteria": Member(values: [.string], types: shown),
            "content-available": Member(values: [.number], types: PushType.allCases),
            "content-changed": Member(values: [.boolean, .number], types: updates),
            "timestamp": Member(values: [.number], types: liveActivity),
            "event": Member(values: [.string], types: liveActivity, choices: ["start", "update", "end"]),
            "content-state": Member(values: [.dictionary], types: liveActivity),
            "stale-date": Member(values: [.number], types: liveActivity),
            "dismissal-date": Member(values: [.number], types: liveActivity),
            "attributes-type": Member(values: [.string], types: liveActivity),
            "attributes": Member(values: [.dictionary], types: liveActivity),
            "input-push-token": Member(values: [.number], types: liveActivity),
            "input-push-channel": Member(values: [.string], types: liveActivity),
        ]
    }
}

extension PushType.Known {
    /// Whether the payload may have the keys of what a person sees or hears.
    fileprivate var mayBeShown: Bool {
        switch self {
        case .background: false
        case .alert, .voip, .complication, .fileProvider, .location, .liveActivity, .pushToTalk, .controls, .widgets,
            .mdm:
            true
        }
    }
}
