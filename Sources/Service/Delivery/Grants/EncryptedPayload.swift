import Notifications

/// The payloads of a grant with `encryptedOnly`: nobody between the instance and the phone reads what they say.
///
/// Beside `aps` there is one text, in base64url. The dictionary `aps` has only what makes the phone run the app's
/// extension, which decrypts the text, and what to show if the extension fails: texts from the app itself (`loc-key`),
/// without arguments.
package enum EncryptedPayload {
    private static let allowed: Set<String> = ["alert", "mutable-content", "sound", "badge", "thread-id"]
    private static let alertKeys: Set<String> = ["loc-key", "title-loc-key", "subtitle-loc-key"]

    /// Returns a sentence that says what must not be in the payload; nil if nothing is wrong.
    package static func fault(in payload: [UInt8]) -> String? {
        guard let payload = JSONObject(payload), let aps = payload[object: "aps"] else {
            return "It has no aps dictionary, or a dictionary has a key twice."
        }
        for key in aps.keys where !allowed.contains(key) {
            return "aps may have mutable-content, sound, badge, thread-id and an alert; it has \(key)."
        }
        if let fault = values(aps) { return fault }
        let others = payload.keys.filter { $0 != "aps" }
        guard let name = others.first, others.count == 1 else {
            return "There must be one key beside aps; there are \(others.count)."
        }
        guard let text = payload[text: name], isEncoded(text) else {
            return "The value of \(name) must be a text in base64url."
        }
        return nil
    }

    /// Checks the values of `aps`. A number or a name cannot say much; everything else could be a text for people.
    private static func values(_ aps: JSONObject) -> String? {
        for key in ["mutable-content", "badge"] where aps[raw: key] != nil && aps[number: key] == nil {
            return "aps.\(key) must be a number."
        }
        for key in ["sound", "thread-id"] where aps[raw: key] != nil && aps[text: key] == nil {
            return "aps.\(key) must be a text."
        }
        guard aps[raw: "alert"] != nil else { return nil }
        guard let alert = aps[object: "alert"] else { return "aps.alert must be a dictionary of loc-keys." }
        for key in alert.keys {
            guard alertKeys.contains(key) else {
                return
                    "aps.alert may have loc-key, title-loc-key and subtitle-loc-key, without arguments; it has \(key)."
            }
            if alert[text: key] == nil { return "aps.alert.\(key) must be a text." }
        }
        return nil
    }

    /// Whether a text is base64url (RFC 4648, 5), with padding or without.
    private static func isEncoded(_ text: String) -> Bool {
        !text.isEmpty && Base64URL.decoded(Array(text.utf8)[...], .url) != nil
    }
}
