import Notifications

/// The payloads of a grant with `encryptedOnly`, and its headers: nobody between the instance and the phone reads what they
/// say.
///
/// Beside `aps` there is what an ``EncryptedForm`` allows. The dictionary `aps` has only what makes the phone run the app's
/// extension, which decrypts it, what clears or counts the badge, and what to show if the extension fails: texts from the app
/// itself (`loc-key`), without arguments.
package enum EncryptedPayload {
    private static let allowed: Set<String> = [
        "alert", "mutable-content", "content-available", "interruption-level", "sound", "badge", "thread-id",
    ]
    private static let alertKeys = ["loc-key", "title-loc-key", "subtitle-loc-key"]
    /// Clients send these, and an empty list says nothing.
    private static let emptyLists: Set<String> = ["loc-args", "title-loc-args", "subtitle-loc-args"]
    private static let levels: Set<String> = ["passive", "active", "time-sensitive", "critical"]

    /// The longest name in `aps` and the longest value of a header, in bytes: of a sound, a thread, a text of the app and a
    /// collapse identifier. A longer one could be a message.
    package static let maximumNameBytes = 64
    /// The longest identifier beside `aps`, in bytes: Matrix's have at most 255.
    package static let maximumIdentifierBytes = 255
    /// The longest number, in bytes.
    package static let maximumNumberBytes = 20

    /// What can be read of a notification, whatever its form is: the collapse identifier, and `aps`.
    static let readable =
        ["apns-collapse-id"] + alertKeys.map { "aps.alert.\($0)" }
        + ["badge", "content-available", "interruption-level", "mutable-content", "sound", "thread-id"].map {
            "aps.\($0)"
        }

    /// Returns a sentence that says what is wrong with a header whose value is forwarded; nil if nothing is.
    package static func fault(inHeader name: String, _ value: String) -> String? {
        if isName(value, maximumNameBytes) { return nil }
        return "\(name) must be a text of at most \(maximumNameBytes) bytes without a blank."
    }

    /// Returns a sentence that says what must not be in the payload; nil if nothing is wrong.
    package static func fault(in payload: [UInt8], _ form: EncryptedForm = .any) -> String? {
        guard let payload = JSONObject(payload), let aps = payload[object: "aps"] else {
            return "It has no aps dictionary, or a dictionary has a key twice."
        }
        for key in aps.keys where !allowed.contains(key) {
            return
                "aps may have mutable-content, content-available, interruption-level, sound, badge, thread-id and an "
                + "alert; it has \(key)."
        }
        return values(aps) ?? others(payload, form)
    }

    /// Checks the values of `aps`. A number or a name cannot say much; everything else could be a text for people.
    private static func values(_ aps: JSONObject) -> String? {
        for key in ["mutable-content", "content-available", "badge"] where aps[raw: key] != nil && !isNumber(aps, key) {
            return "aps.\(key) must be a number."
        }
        for key in ["sound", "thread-id"] where aps[raw: key] != nil && !isName(aps[text: key], maximumNameBytes) {
            return "aps.\(key) must be a text of at most \(maximumNameBytes) bytes without a blank."
        }
        if aps[raw: "interruption-level"] != nil, !(aps[text: "interruption-level"].map(levels.contains) ?? false) {
            return "aps.interruption-level must be passive, active, time-sensitive or critical."
        }
        guard aps[raw: "alert"] != nil else { return nil }
        guard let alert = aps[object: "alert"] else { return "aps.alert must be a dictionary of loc-keys." }
        for key in alert.keys {
            if emptyLists.contains(key), alert[raw: key].map(isEmptyList) ?? false { continue }
            guard alertKeys.contains(key) else {
                return
                    "aps.alert may have loc-key, title-loc-key and subtitle-loc-key, without arguments; it has \(key)."
            }
            guard isName(alert[text: key], maximumNameBytes) else {
                return "aps.alert.\(key) must be a text of at most \(maximumNameBytes) bytes without a blank."
            }
        }
        return nil
    }

    /// Checks what is beside `aps`.
    private static func others(_ payload: JSONObject, _ form: EncryptedForm) -> String? {
        let names = payload.keys.filter { $0 != "aps" }
        let allowed = form.keys
        if allowed == nil, names.count > 1 { return "There may be one key beside aps; there are \(names.count)." }
        for name in names {
            guard let kind = allowed.map({ $0[name] }) ?? (EncryptedForm.isName(name) ? .opaque : nil) else {
                guard let allowed else {
                    return "The name of the key beside aps must be at most \(EncryptedForm.maximumNameBytes) letters, "
                        + "digits, _ and -."
                }
                return "Beside aps there may be \(allowed.keys.sorted().joined(separator: ", ")); there is another key."
            }
            switch kind {
            case .opaque:
                guard let text = payload[text: name], isOpaque(text) else {
                    return "The value of \(name) must be a text in base64url, base64 or z85."
                }
            case .number: guard isNumber(payload, name) else { return "The value of \(name) must be a number." }
            case .identifier:
                guard isName(payload[text: name], maximumIdentifierBytes) else {
                    return
                        "The value of \(name) must be a text of 1 to \(maximumIdentifierBytes) bytes without a blank."
                }
            }
        }
        return nil
    }

    private static func isNumber(_ object: JSONObject, _ key: String) -> Bool {
        object[double: key] != nil && (object[raw: key]?.count ?? 0) <= maximumNumberBytes
    }

    /// Whether a text has 1 to `maximumBytes` bytes, and no blank and no control character.
    private static func isName(_ text: String?, _ maximumBytes: Int) -> Bool {
        guard let text, (1...maximumBytes).contains(text.utf8.count) else { return false }
        return text.unicodeScalars.allSatisfy { scalar in
            switch scalar.properties.generalCategory {
            case .control, .format, .spaceSeparator, .lineSeparator, .paragraphSeparator: false
            default: !scalar.properties.isWhitespace
            }
        }
    }

    /// Whether a text is binary data: base64url or base64 (RFC 4648, 4 and 5), with padding or without, or z85.
    private static func isOpaque(_ text: String) -> Bool {
        let text = Array(text.utf8)
        return !text.isEmpty && (Base64URL.decoded(text[...]) != nil || Z85.isEncoded(text))
    }

    private static func isEmptyList(_ value: [UInt8]) -> Bool {
        value.filter { ![0x20, 0x09, 0x0a, 0x0d].contains($0) } == Array("[]".utf8)
    }
}
