/// A notification's payload: a JSON dictionary on one line, and what its `aps` dictionary contains.
package struct Payload: Sendable, Hashable {
    /// The largest size of a payload in bytes: 4,096 for the HTTP/2 API (Guide, 2.2).
    package static let maximumBytes = 4096
    /// The largest size of a Voice over IP payload in bytes: 5,120 (Guide, 2.2).
    package static let maximumVoIPBytes = 5120

    /// The dictionary without white space between its tokens; UTF-8.
    package let json: [UInt8]
    package let contents: Contents

    /// What the `aps` dictionary contains (Guide, Table 9-1).
    package struct Contents: OptionSet, Sendable, Hashable {
        package let rawValue: UInt8
        package init(rawValue: UInt8) { self.rawValue = rawValue }

        /// There is an `aps` dictionary.
        package static let aps = Contents(rawValue: 1 << 0)
        package static let alert = Contents(rawValue: 1 << 1)
        package static let badge = Contents(rawValue: 1 << 2)
        package static let sound = Contents(rawValue: 1 << 3)
        /// `content-available` with a value that switches it on; see ``JSONValue/isOn``.
        package static let contentAvailable = Contents(rawValue: 1 << 4)
    }

    /// Takes a payload that was checked before. For bytes from outside use ``init(reading:)``.
    package init(stored json: [UInt8], contents: Contents) {
        self.json = json
        self.contents = contents
    }

    /// Whether the payload is for a silent notification: it wakes the app and shows or plays nothing (Guide, 2.2.2).
    package var isSilent: Bool {
        contents.contains(.contentAvailable) && contents.isDisjoint(with: [.alert, .badge, .sound])
    }
}
