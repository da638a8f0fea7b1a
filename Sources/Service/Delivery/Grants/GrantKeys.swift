package import Notifications

/// One key of a kind, or two while a new one replaces an old one. Both are accepted.
package struct GrantKeys<Key: GrantKeyKind>: Sendable, Hashable {
    /// The largest number of keys of a kind, as developer accounts have it: enough to replace one without a gap.
    package static var maximumCount: Int { 2 }

    /// The older one.
    package private(set) var first: Key
    package private(set) var second: Key?

    package init(_ first: Key, _ second: Key? = nil) {
        self.first = first
        self.second = second
    }

    package var all: [Key] { second.map { [first, $0] } ?? [first] }

    /// - Returns: false if there are two already.
    mutating func add(_ key: Key) -> Bool {
        guard second == nil else { return false }
        second = key
        return true
    }

    /// - Returns: the key that was removed; nil if there is no other one, or none with this identifier.
    mutating func remove(_ id: KeyID) -> Key? {
        guard let other = second else { return nil }
        if first.id == id {
            defer { (first, second) = (other, nil) }
            return first
        }
        guard other.id == id else { return nil }
        second = nil
        return other
    }
}

/// A kind of key that a grant has.
package protocol GrantKeyKind: Sendable, Hashable {
    /// Names the key among those of its grant.
    var id: KeyID { get }
    var made: Timestamp { get }
}

/// A key with which an instance signs its provider tokens.
package struct GrantProviderKey: GrantKeyKind {
    /// The `kid` of its provider tokens.
    package let id: KeyID
    /// The public half: an uncompressed point on P-256 (X9.63, 65 bytes).
    package let publicKey: [UInt8]
    package let made: Timestamp

    package init(id: KeyID, publicKey: [UInt8], made: Timestamp) {
        self.id = id
        self.publicKey = publicKey
        self.made = made
    }
}

/// A client key, with which the app on a phone makes handles. It is on every phone, and so no secret.
package struct GrantClientKeyEntry: GrantKeyKind {
    package let text: String
    package let made: Timestamp

    package init(text: String, made: Timestamp) {
        self.text = text
        self.made = made
    }

    /// The first ten letters and digits after `ck_`, in capitals. So a key of an earlier release has one too.
    package var id: KeyID {
        let digits = text.dropFirst(3).utf8.filter(\.isLetterOrDigit).prefix(10)
        let name = String(decoding: digits, as: UTF8.self).uppercased()
        return KeyID(checked: name + String(repeating: "A", count: max(0, 10 - name.utf8.count)))
    }
}
