/// Notifications with the same collapse identifier are shown as one (Guide, 2.1.3).
package struct CollapseIdentifier: RawRepresentable, Sendable, Hashable {
    /// The largest size in bytes (Guide, Table 8-2).
    package static let maximumBytes = 64

    package let rawValue: String

    /// - Returns: nil when `rawValue` is empty or longer than ``maximumBytes``.
    package init?(rawValue: String) {
        guard (1...Self.maximumBytes).contains(rawValue.utf8.count) else { return nil }
        self.rawValue = rawValue
    }

    package static func == (one: CollapseIdentifier, other: CollapseIdentifier) -> Bool {
        one.rawValue.isSame(as: other.rawValue)
    }
}
