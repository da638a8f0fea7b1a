package import Notifications

/// The JSON of a notification to a phone, in which objects stand for the parts of a message of Web Push (docs/web-push.md).
///
/// ```json
/// {"aps":{"alert":"Something is new","mutable-content":1},"m":{"$webPush":"body","as":"z85"},"url":{"$webPush":"fetch"}}
/// ```
///
/// Everything else stays as it is: numbers keep their digits, and keys are compared by their code units.
package struct WebPushTemplate: Sendable, Hashable {
    /// The largest template, in bytes of JSON without white space: as large as a payload may be.
    package static let maximumBytes = Payload.maximumBytes
    /// How many levels a template may have. Filling one recurses; a payload has three or four.
    package static let maximumDepth = 16

    /// What an object stands for.
    package enum Part: String, Sendable, Hashable, CaseIterable {
        /// The body as it came. Missing if it is empty, or ``fetch`` is there.
        case body
        /// The sender's key of ``WebPushMessage/Encoding/aesgcm``.
        case dh
        /// The salt of ``WebPushMessage/Encoding/aesgcm``.
        case salt
        /// Missing if the body is not encrypted.
        case encoding
        /// The subscription's name. Missing with a relay's URL.
        case subscription
        /// What follows the device token in a relay's URL.
        case extra
        /// The URL from which the phone fetches the body, if the notification has no room for it.
        case fetch

        /// Whether it is bytes, which ``As`` writes as text.
        var isBytes: Bool { [.body, .dh, .salt].contains(self) }
    }

    /// How bytes are written.
    package enum As: String, Sendable, Hashable, CaseIterable {
        case base64URL = "base64url"
        case z85
    }

    /// Why a template cannot be used.
    package struct Fault: DocumentFault, Hashable {
        /// The place of the value at fault (RFC 6901).
        package var pointer: String
        package var detail: String

        package static func invalid(_ pointer: String, _ detail: String) -> Fault {
            Fault(pointer: pointer, detail: detail)
        }
    }

    package let document: JSONValue
    private let parts: Set<Part>

    /// The key of an object that stands for a part.
    private static let key = "$webPush"

    package init(_ document: JSONValue) throws(Fault) {
        guard document.text.utf8.count <= Self.maximumBytes else {
            throw .invalid("", "A template may have \(Self.maximumBytes) bytes.")
        }
        guard case .object(let members) = document else { throw .wrongType(document, at: "", "an object") }
        guard members[Self.key] == nil else {
            throw .invalid("", "The whole template cannot be one part of a message.")
        }
        guard case .object(let aps) = members["aps"], aps[Self.key] == nil else {
            throw .invalid("/aps", "A notification has a dictionary aps (Guide, Table 9-1).")
        }
        var parts: Set<Part> = []
        try Self.read(document, at: "", levels: Self.maximumDepth, &parts)
        (self.document, self.parts) = (document, parts)
    }

    /// Reads a template of a file or of a store.
    package init(text: [UInt8]) throws(Fault) {
        let document: JSONValue
        do throws(JSONFault) {
            document = try JSONValue(document: text, maximumDepth: Self.maximumDepth)
        } catch {
            throw .invalid(error.pointer, error.detail(of: "The template"))
        }
        try self.init(document)
    }

    /// A built-in template, which tests have read.
    private init(builtIn document: JSONValue, _ parts: Set<Part>) { (self.document, self.parts) = (document, parts) }

    /// Whether a part is anywhere in it.
    package func has(_ part: Part) -> Bool { parts.contains(part) }

    // MARK: Reading

    private static func read(
        _ value: JSONValue, at pointer: String, levels: Int, _ parts: inout Set<Part>
    ) throws(Fault) {
        switch value {
        case .object(let members):
            guard levels > 0 else { throw .invalid(pointer, "A template may have \(maximumDepth) levels.") }
            if members[key] != nil {
                parts.insert(try placeholder(value, at: pointer).part)
                return
            }
            for member in members {
                let place = pointer + "/" + JSONValue.escaped(member.key)
                try read(member.value, at: place, levels: levels - 1, &parts)
            }
        case .array(let elements):
            guard levels > 0 else { throw .invalid(pointer, "A template may have \(maximumDepth) levels.") }
            for (index, element) in elements.enumerated() {
                try read(element, at: "\(pointer)/\(index)", levels: levels - 1, &parts)
            }
        case .null, .bool, .integer, .number, .string: break
        }
    }

    /// Reads an object that stands for a part.
    private static func placeholder(_ value: JSONValue, at pointer: String) throws(Fault) -> (part: Part, as: As) {
        let reader = try JSONReader<Fault>(value, at: pointer, keys: [key, "as"], nullIsMissing: false)
        guard let part = reader.members[key]?.string.flatMap(Part.init(rawValue:)) else {
            throw reader.fault(key, "one of " + Part.allCases.map(\.rawValue).joined(separator: ", "))
        }
        guard let form = reader.members["as"] else { return (part, .base64URL) }
        guard part.isBytes else {
            throw .invalid(reader.place("as"), "The part \(part.rawValue) is text, so it is written as it is.")
        }
        guard let form = form.string.flatMap(As.init(rawValue:)) else {
            throw reader.fault("as", "one of " + As.allCases.map(\.rawValue).joined(separator: ", "))
        }
        return (part, form)
    }

    // MARK: Filling

    /// The parts of one message.
    package struct Values: Sendable, Hashable {
        package var message: WebPushMessage
        /// Nil with a relay's URL.
        package var subscription: String?
        package var extra: String?

        package init(_ message: WebPushMessage, subscription: String? = nil, extra: String? = nil) {
            (self.message, self.subscription, self.extra) = (message, subscription, extra)
        }
    }

    /// The payload of a message.
    /// - Parameter fetch: the URL of the body; nil if the body itself is in the payload.
    package func payload(_ values: Values, fetch: String? = nil) -> [UInt8] {
        Array((Self.filled(document, values, fetch) ?? document).text.utf8)
    }

    /// - Returns: nil if it stands for a part that is missing.
    private static func filled(_ value: JSONValue, _ values: Values, _ fetch: String?) -> JSONValue? {
        switch value {
        case .object(let members):
            // A template was read, so this cannot fail.
            if members[key] != nil, let found = try? placeholder(value, at: "") {
                return text(found.part, found.as, values, fetch).map { .string($0) }
            }
            let filled = members.compactMap { member in
                Self.filled(member.value, values, fetch).map { (key: member.key, value: $0) }
            }
            return .object(JSONMembers(lastOf: filled))
        case .array(let elements): return .array(elements.compactMap { filled($0, values, fetch) })
        case .null, .bool, .integer, .number, .string: return value
        }
    }

    private static func text(_ part: Part, _ form: As, _ values: Values, _ fetch: String?) -> String? {
        let message = values.message
        return switch part {
        case .body: message.body.isEmpty || fetch != nil ? nil : text(message.body, form)
        case .dh: message.dh.flatMap { text($0, form) }
        case .salt: message.salt.flatMap { text($0, form) }
        case .encoding: message.encoding?.rawValue
        case .subscription: values.subscription
        case .extra: values.extra
        case .fetch: fetch
        }
    }

    private static func text(_ bytes: [UInt8], _ form: As) -> String {
        switch form {
        case .base64URL: String(decoding: Base64URL.encoded(bytes), as: UTF8.self)
        case .z85: String(decoding: Z85.encoded(bytes), as: UTF8.self)
        }
    }

    /// - Parameter base64URL: a field of the message.
    private static func text(_ base64URL: String, _ form: As) -> String? {
        form == .base64URL ? base64URL : Base64URL.decoded(Array(base64URL.utf8)[...]).map { text($0, form) }
    }
}

// MARK: - Built-in templates

extension WebPushTemplate {
    /// The template of an app that has none of its own. Its alert is what the phone shows if the app's extension does not run:
    /// the app's text for this key, and without one the key itself, as iOS does. Devices that do not know `loc-key` show the body.
    package static let usual = WebPushTemplate(
        builtIn: [
            "aps": ["alert": ["loc-key": .string(fallback), "body": .string(fallback)], "mutable-content": 1],
            "subscription": part(.subscription),
            "webPush": [
                "body": part(.body), "encoding": part(.encoding), "dh": part(.dh), "salt": part(.salt),
                "extra": part(.extra), "fetch": part(.fetch),
            ],
        ], Set(Part.allCases))

    private static let fallback = "New notification"

    /// What the public relays of Mastodon's apps send. Apps in the App Store expect it, and none of them fetches a body.
    package static let tootRelay = WebPushTemplate(
        builtIn: [
            "aps": ["alert": "🎺", "mutable-content": 1, "content-available": 1],
            "p": part(.body, .z85), "k": part(.dh, .z85), "s": part(.salt, .z85), "x": part(.extra),
        ], [.body, .dh, .salt, .extra])

    /// The word for ``tootRelay`` in commands.
    package static let tootRelayName = "toot-relay"

    private static func part(_ part: Part, _ form: As? = nil) -> JSONValue {
        var members: [String: JSONValue] = [key: .string(part.rawValue)]
        if let form { members["as"] = .string(form.rawValue) }
        return .object(members)
    }
}
