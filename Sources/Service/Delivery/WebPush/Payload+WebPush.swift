package import Notifications

// A message is stored and passed between nodes as the payload of a notification: the JSON that its line on a device's
// stream ends with. So nothing is decoded on its way, and what the disk has damaged is recognised as for any payload.
extension WebPushMessage {
    private static let beforeName = Array(#"{"subscription":"#.utf8)
    private static let beforeBody = Array(#","webPush":{"body":""#.utf8)

    /// - Parameter name: the subscription's.
    func payload(to name: String) -> Payload {
        var json = Self.beforeName + JSONString.quoted(name).utf8 + Self.beforeBody + Base64URL.encoded(body)
        func append(_ key: StaticString, _ value: String?) {
            json += "\(key)".utf8
            json += (value.map(JSONString.quoted) ?? "null").utf8
        }
        append(#"","encoding":"#, encoding?.rawValue)
        append(#","dh":"#, dh)
        append(#","salt":"#, salt)
        append(#","urgency":"#, urgency.rawValue)
        append(#","topic":"#, topic)
        json += "}}".utf8
        return Payload(stored: json, contents: [])
    }

    /// The size in bytes of a body within a payload; nil if it is not a message's.
    static func bodyBytes(in json: [UInt8]) -> Int? {
        guard json.starts(with: beforeName) else { return nil }
        // The name ends with the first quotation mark that is not escaped.
        var rest = json.dropFirst(beforeName.count + 1)
        while let byte = rest.popFirst(), byte != UInt8(ascii: "\"") {
            if byte == UInt8(ascii: "\\") { _ = rest.popFirst() }
        }
        guard rest.starts(with: beforeBody),
            let end = rest.dropFirst(beforeBody.count).firstIndex(of: UInt8(ascii: "\""))
        else { return nil }
        return (end - rest.startIndex - beforeBody.count) * 6 / 8
    }
}

extension Notification {
    /// Whether it is a message of Web Push.
    package var isWebPush: Bool { pushType == .webPush }

    /// How much of its mailbox's bound it takes, in bytes: its payload, or the body of a message of Web Push.
    package var countedBytes: Int {
        guard isWebPush, let body = WebPushMessage.bodyBytes(in: payload.json) else { return payload.json.count }
        return body
    }
}
