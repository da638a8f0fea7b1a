import Delivery
import HTTPAPI
import HTTPTypes
import Notifications
import Testing
import WebPush

/// What a message's header fields say: each row of the specification.
struct MessageFieldsTests {
    /// Fields with a valid `TTL`, and these. A nil value removes the field.
    static func fields(_ changes: [(String, String?)]) -> HTTPFields {
        var fields = HTTPFields()
        for (name, value) in [("TTL", "60")] + changes {
            guard let field = HTTPField.Name(name) else { continue }
            if let value, fields[field] == nil || name != "TTL" {
                fields.append(HTTPField(name: field, value: value))
            } else {
                fields[field] = value
            }
        }
        return fields
    }

    private func status(_ changes: (String, String?)..., isEmpty: Bool = false, takesPlain: Bool = true) -> Int {
        do throws(Problem) {
            _ = try MessageFields(Self.fields(changes), isEmpty: isEmpty, takesPlain: takesPlain)
            return 201
        } catch {
            return error.status
        }
    }

    private func read(_ changes: (String, String?)...) throws -> MessageFields {
        try MessageFields(Self.fields(changes), isEmpty: false, takesPlain: true)
    }

    @Test func `TTL is required, a whole number, and shortened to 30 days`() throws {
        #expect(status(("TTL", nil)) == 400)
        for text in ["", "-1", "+1", "1.5", "1s", "0x10", "\u{661}", "1 2"] {
            #expect(status(("TTL", text)) == 400, "\(text)")
        }
        #expect(try read(("TTL", "0")).ttl == 0)
        #expect(try read(("TTL", "2592000")).ttl == 2_592_000)
        #expect(try read(("TTL", "2592001")).ttl == 2_592_000)
        #expect(try read(("TTL", "99999999999999999999999")).ttl == 2_592_000)
    }

    @Test(arguments: ["TTL", "Urgency", "Topic"])
    func `A field that is there twice is refused`(_ name: String) throws {
        var fields = Self.fields([])
        let field = try #require(HTTPField.Name(name))
        for _ in 0..<2 { fields.append(HTTPField(name: field, value: "1")) }
        #expect(throws: Problem.self) { try MessageFields(fields, isEmpty: true, takesPlain: true) }
    }

    @Test func `Urgency is one of four, and normal by default`() throws {
        #expect(try read().urgency == .normal)
        for urgency in WebPushMessage.Urgency.allCases {
            #expect(try read(("Urgency", urgency.rawValue)).urgency == urgency)
        }
        for text in ["", "urgent", "very_low", "high, low"] { #expect(status(("Urgency", text)) == 400, "\(text)") }
    }

    @Test func `Topic has 1 to 32 characters of base64url`() throws {
        let longest = String(repeating: "a", count: 32)
        #expect(try read(("Topic", longest)).topic == longest)
        #expect(try read(("Topic", "-_09azAZ")).topic == "-_09azAZ")
        for text in ["", longest + "a", "a b", "a+b", "a=", "\u{e4}"] {
            #expect(status(("Topic", text)) == 400, "\(text)")
        }
    }

    @Test func `A body without an encoding needs a plain subscription, unless it is empty`() {
        #expect(status(takesPlain: false) == 415)
        #expect(status(isEmpty: true, takesPlain: false) == 201)
        #expect(status(takesPlain: true) == 201)
        for text in ["gzip", "aes128gcm, gzip", "identity", "", "aes128"] {
            #expect(status(("Content-Encoding", text)) == 415, "\(text)")
        }
        #expect(status(("Content-Encoding", "aes128gcm"), ("Content-Encoding", "aes128gcm")) == 415)
        #expect(status(("Content-Encoding", "AES128GCM"), takesPlain: false) == 201)
        #expect(status(("Content-Encoding", "aes128gcm ,"), takesPlain: false) == 201)
    }

    private static let salt = "AAECAwQFBgcICQoLDA0ODw"
    private static let dh = String(decoding: Base64URL.encoded([4] + [UInt8](repeating: 7, count: 64)), as: UTF8.self)
    private static let other = String(
        decoding: Base64URL.encoded([4] + [UInt8](repeating: 8, count: 64)), as: UTF8.self)

    private func draft(_ encryption: String?, _ key: String?) throws -> MessageFields {
        try read(("Content-Encoding", "aesgcm"), ("Encryption", encryption), ("Crypto-Key", key))
    }

    @Test func `aesgcm has its salt and key in fields`() throws {
        let (salt, dh, other) = (Self.salt, Self.dh, Self.other)
        for (encryption, key) in [
            ("salt=\(salt)", "dh=\(dh)"), ("salt=\(salt);rs=4096", "dh=\(dh);p256ecdsa=\(other)"),
            ("salt=\"\(salt)\"", "p256ecdsa=\(other);dh=\"\(dh)\""), ("salt=\(salt)==", "p256ecdsa=\(other),dh=\(dh)="),
            ("keyid=b;salt=\(salt)", "keyid=a;dh=\(other), keyid=b;dh=\(dh), p256ecdsa=\(other)"),
            ("keyid=b;salt=\(salt)", "dh=\(dh)"), ("salt=\(salt)", "keyid=a;dh=\(dh)"),
            ("salt=\(salt);", "dh=\(dh),"), ("salt=\(salt)", "keyid=a;dh=\(other), dh=\(dh)"),
        ] {
            let read = try draft(encryption, key)
            #expect(read.encoding == .aesgcm && read.salt == salt && read.dh == dh, "\(encryption) \(key)")
        }
    }

    @Test func `aesgcm without a usable salt or key is refused`() {
        let (salt, dh) = (Self.salt, Self.dh)
        for (encryption, key) in [
            (nil, "dh=\(dh)"), ("salt=\(salt)", nil), ("salt=AAAA", "dh=\(dh)"), ("salt=\(salt)", "dh=AAAA"),
            ("rs=4096", "dh=\(dh)"), ("salt=\(salt)", "p256ecdsa=\(dh)"), ("salt", "dh=\(dh)"),
            ("keyid=b;salt=\(salt)", "keyid=a;dh=\(dh)"), ("salt=\(salt)", "dh=*"),
            // It is not defined which of two counts.
            ("salt=\(salt), salt=\(salt)", "dh=\(dh)"), ("salt=\(salt)", "dh=\(dh), dh=\(Self.other)"),
            ("keyid=a;salt=\(salt)", "keyid=a;dh=\(dh), keyid=a;dh=\(Self.other)"),
        ] as [(String?, String?)] {
            #expect(throws: Problem.self, "\(encryption ?? "") \(key ?? "")") { try draft(encryption, key) }
        }
    }

    @Test func `A message has what the fields say`() throws {
        let message = try read(("Topic", "t"), ("Urgency", "high"), ("Content-Encoding", "aes128gcm")).message([1, 2])
        #expect(
            message == WebPushMessage(body: [1, 2], encoding: .aes128gcm, urgency: .high, topic: "t"))
    }
}
