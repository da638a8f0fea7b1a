/// What payloads of a grant with `encryptedOnly` may have beside `aps`.
package enum EncryptedForm: Sendable, Hashable, Codable {
    /// One opaque text, under any name.
    case any
    /// What relays of Web Push send (docs/gateway.md).
    case webPush
    /// What Matrix's gateways send with the format `event_id_only`.
    case matrix
    /// These keys. None has to be there.
    case keys([String: Kind])

    /// What a value may be.
    package enum Kind: String, Sendable, Hashable, Codable, CaseIterable {
        /// Binary data as a text: base64url, base64 or z85. Nobody between the instance and the phone can read it.
        case opaque
        case number
        /// A name without a blank, of 1 to 255 bytes.
        case identifier
    }

    /// The largest number of keys. Products have one to four.
    package static let maximumKeys = 20
    /// The longest name of a key, in bytes. A longer one could be a message.
    package static let maximumNameBytes = 32

    /// Whether a key beside `aps` may have this name: letters, digits, `_` and `-`.
    package static func isName(_ name: String) -> Bool {
        name != "aps" && (1...maximumNameBytes).contains(name.utf8.count)
            && name.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "-"):
                    true
                default: false
                }
            }
    }

    /// The allowed keys; nil if it is one of any name.
    package var keys: [String: Kind]? {
        switch self {
        case .any: nil
        case .webPush: ["p": .opaque, "k": .opaque, "s": .opaque, "x": .opaque]
        case .matrix: ["room_id": .identifier, "event_id": .identifier, "unread_count": .number]
        case .keys(let keys): keys
        }
    }

    /// What the gateway, and so the publisher, can read of a notification.
    package var readable: [String] {
        EncryptedPayload.readable + (keys ?? [:]).filter { $0.value != .opaque }.map(\.key).sorted()
    }
}
