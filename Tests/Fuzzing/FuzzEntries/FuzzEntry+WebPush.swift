import Delivery
import HTTPTypes
import Notifications
import Trust
import WebPush

extension FuzzEntry {
    /// Reads the header fields of a message from lines of `name:value`, and verifies the token in them.
    static func readWebPush(_ bytes: [UInt8]) {
        var fields = HTTPFields()
        for line in bytes.split(separator: UInt8(ascii: "\n")) {
            let parts = line.split(separator: UInt8(ascii: ":"), maxSplits: 1, omittingEmptySubsequences: false)
            guard parts.count == 2, let name = HTTPField.Name(String(decoding: parts[0], as: UTF8.self)) else {
                continue
            }
            let value = String(decoding: parts[1], as: UTF8.self)
            guard HTTPField.isValidValue(value) else { continue }
            fields.append(HTTPField(name: name, value: value))
        }
        if let message = try? MessageFields(fields, isEmpty: false, takesPlain: true) {
            precondition(message.ttl <= WebPushMessage.maximumTimeToLive)
            precondition(message.topic.map { (1...32).contains($0.utf8.count) } ?? true)
            precondition((message.encoding == .aesgcm) == (message.dh != nil && message.salt != nil))
        }
        if let credential = try? VAPIDCredential.read(fields) {
            precondition(credential.key.count == VAPIDRules.keyBytes)
            let rules = VAPIDRules(origin: "https://push.example.com")
            let verified = try? rules.verify(token: credential.token, key: credential.key, now: 1_800_000_000)
            precondition(verified == nil || verified?.key == credential.key)
        }
    }
}
