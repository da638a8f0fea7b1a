import ArgumentParser
import Management
import Notifications

/// The value of `--encrypted-only`: what encrypted payloads may have beside `aps` (docs/gateway.md).
enum EncryptedOnlyArgument {
    static let discussion = """
        The form says what may be beside aps: web-push or matrix for what these send, or keys of your own as \
        NAME=KIND,NAME=KIND, where KIND is opaque, number or identifier. Without a form it is one opaque text of any name; false ends the limit.
        """

    static func read(_ text: String) throws -> ManagementMessages.EncryptedOnly {
        let value: JSONValue
        switch text {
        case "true": value = true
        case "false", "0", "": value = false
        case _ where text.hasPrefix("{"):
            guard let json = JSONValue(any: Array(text.utf8)) else { throw fault }
            value = json
        case _ where text.contains("="):
            var keys: [String: JSONValue] = [:]
            for part in text.split(separator: ",", omittingEmptySubsequences: false) {
                let words = part.split(separator: "=", omittingEmptySubsequences: false)
                guard words.count == 2, keys.updateValue(.string(String(words[1])), forKey: String(words[0])) == nil
                else { throw fault }
            }
            value = ["keys": .object(keys)]
        default: value = .string(text)
        }
        guard let form = ManagementMessages.EncryptedOnly(value) else { throw fault }
        return form
    }

    private static let fault = ValidationError(
        "--encrypted-only takes web-push, matrix, or NAME=KIND with commas between, where KIND is "
            + "\(ManagementMessages.EncryptedOnly.kinds.joined(separator: ", ")).")

    /// The limit in a list of limits; nil if there is none.
    static func shown(_ limit: ManagementMessages.EncryptedOnly?) -> String? {
        switch limit {
        case nil, .off: nil
        case .any: "encrypted only"
        case .webPush: "encrypted only (web-push)"
        case .matrix: "encrypted only (matrix)"
        case .keys(let keys):
            "encrypted only (" + keys.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }.joined(separator: ", ")
                + ")"
        }
    }
}
