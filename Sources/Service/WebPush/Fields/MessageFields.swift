package import Delivery
package import HTTPAPI
package import HTTPTypes
import Notifications

/// What the header fields of a message say (RFC 8030, 5; RFC 8188; draft 4 of the encryption).
package struct MessageFields: Sendable, Hashable {
    /// For how many seconds the service keeps the message: what the sender asked for, and
    /// ``WebPushMessage/maximumTimeToLive`` at most.
    package let ttl: UInt64
    package let urgency: WebPushMessage.Urgency
    package let topic: String?
    /// Nil for a body that is not encrypted.
    package let encoding: WebPushMessage.Encoding?
    /// The sender's key and the salt of draft 4, in base64url without padding.
    package let dh: String?
    package let salt: String?

    /// The largest size of a topic, in characters (RFC 8030, 5.4).
    package static let maximumTopicBytes = 32
    /// The sizes of the salt and of the sender's key, in bytes (draft 4 of the encryption, 3.1 and 4).
    package static let (saltBytes, keyBytes) = (16, 65)

    /// - Parameters:
    ///   - isEmpty: whether the body is.
    ///   - takesPlain: whether the subscription takes bodies that are not encrypted.
    ///   - usualTTL: the `TTL` of a request that has none, in seconds; nil if that is a fault.
    /// - Throws: 400 or 415.
    package init(
        _ fields: HTTPFields, isEmpty: Bool, takesPlain: Bool, usualTTL: UInt64? = nil
    ) throws(Problem) {
        ttl = try Self.ttl(fields, usual: usualTTL)
        urgency = try Self.urgency(fields)
        topic = try Self.topic(fields)
        encoding = try Self.encoding(fields, isEmpty: isEmpty, takesPlain: takesPlain)
        (dh, salt) = encoding == .aesgcm ? try Self.draft(fields) : (nil, nil)
    }

    /// The message, with its body.
    package func message(_ body: [UInt8]) -> WebPushMessage {
        WebPushMessage(body: body, encoding: encoding, dh: dh, salt: salt, urgency: urgency, topic: topic)
    }

    /// The value of a field; nil if it is missing.
    /// - Throws: 400 if it is there more than once, because then it is not defined which one counts.
    private static func single(_ name: FieldName, _ fields: HTTPFields) throws(Problem) -> String? {
        let values = fields[values: name]
        guard values.count <= 1 else {
            throw Problem(400, "The header field \(name.rawValue) is there more than once.")
        }
        return values.first
    }

    private static func ttl(_ fields: HTTPFields, usual: UInt64?) throws(Problem) -> UInt64 {
        guard let text = try single(.ttl, fields) else {
            if let usual { return usual }
            throw Problem(400, "The header field TTL is missing (RFC 8030, 5.2).")
        }
        guard !text.isEmpty, text.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }) else {
            throw Problem(400, "The header field TTL has to be a whole number of seconds, 0 or more (RFC 8030, 5.2).")
        }
        // A number that is too large for the type is longer than the service keeps anything.
        return min(UInt64(text) ?? .max, WebPushMessage.maximumTimeToLive)
    }

    private static func urgency(_ fields: HTTPFields) throws(Problem) -> WebPushMessage.Urgency {
        guard let text = try single(.urgency, fields) else { return .normal }
        guard let urgency = WebPushMessage.Urgency(rawValue: text.lowercased()) else {
            let all = WebPushMessage.Urgency.allCases.map(\.rawValue).joined(separator: ", ")
            throw Problem(400, "The header field Urgency has to be one of \(all) (RFC 8030, 5.3).")
        }
        return urgency
    }

    private static func topic(_ fields: HTTPFields) throws(Problem) -> String? {
        guard let text = try single(.topic, fields) else { return nil }
        guard (1...maximumTopicBytes).contains(text.utf8.count), text.utf8.allSatisfy(isBase64URL) else {
            throw Problem(
                400,
                "The header field Topic has to be 1 to \(maximumTopicBytes) characters of base64url (RFC 8030, 5.4).")
        }
        return text
    }

    private static func isBase64URL(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"):
            true
        default: false
        }
    }

    private static func encoding(
        _ fields: HTTPFields, isEmpty: Bool, takesPlain: Bool
    ) throws(Problem) -> WebPushMessage.Encoding? {
        if let field = fields[.contentEncoding] {
            // A list may have empty elements (RFC 9110, 5.6.1.2).
            let codings = field.split(separator: ",").map { String($0).trimmingBlanks }.filter { !$0.isEmpty }
            guard codings.count == 1, let encoding = WebPushMessage.Encoding(rawValue: codings[0].lowercased()) else {
                throw Problem(415, "The header field Content-Encoding has to be aes128gcm, or aesgcm.")
            }
            return encoding
        }
        guard isEmpty || takesPlain else {
            throw Problem(
                415, "The body has to be encrypted, with Content-Encoding: aes128gcm (RFC 8291).")
        }
        return nil
    }

    /// Reads the salt and the sender's key of draft 4. The keys of several entries belong together by their `keyid`. A field that
    /// is there twice is one list (RFC 9110, 5.3).
    private static func draft(_ fields: HTTPFields) throws(Problem) -> (dh: String, salt: String) {
        guard let encryption = fields[FieldName.encryption].flatMap(FieldParameters.init),
            let entry = only(encryption.entries.filter { FieldParameters.value("salt", in: $0) != nil }),
            let salt = text(FieldParameters.value("salt", in: entry), saltBytes)
        else {
            throw Problem(
                400, "With Content-Encoding: aesgcm, the field Encryption has to have one salt, of \(saltBytes) bytes.")
        }
        guard let keys = fields[FieldName.cryptoKey].flatMap(FieldParameters.init),
            let dh = text(dh(in: keys, for: FieldParameters.value("keyid", in: entry)), keyBytes)
        else {
            throw Problem(
                400,
                "With Content-Encoding: aesgcm, the field Crypto-Key has to have one dh for the salt, of \(keyBytes) bytes."
            )
        }
        return (dh, salt)
    }

    /// The key that the salt's entry names; the one without a name if there is none of this name, and the only one if the salt's
    /// entry names none. Of two it is not defined which one counts.
    private static func dh(in keys: FieldParameters, for keyID: String?) -> String? {
        let withKey = keys.entries.filter { FieldParameters.value("dh", in: $0) != nil }
        let named = withKey.filter { FieldParameters.value("keyid", in: $0) == keyID }
        let unnamed = withKey.filter { FieldParameters.value("keyid", in: $0) == nil }
        let candidates = !named.isEmpty ? named : !unnamed.isEmpty ? unnamed : keyID == nil ? withKey : []
        return only(candidates).flatMap { FieldParameters.value("dh", in: $0) }
    }

    private static func only(_ entries: [[FieldParameters.Parameter]]) -> [FieldParameters.Parameter]? {
        entries.count == 1 ? entries[0] : nil
    }

    /// A value in base64url without padding; nil unless it has this many bytes.
    private static func text(_ value: String?, _ count: Int) -> String? {
        guard let value, let bytes = Base64URL.decoded(Array(value.utf8)[...]), bytes.count == count else { return nil }
        return String(decoding: Base64URL.encoded(bytes), as: UTF8.self)
    }
}
