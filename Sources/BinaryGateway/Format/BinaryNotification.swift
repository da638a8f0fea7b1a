import Notifications

/// The three formats of a notification, by their first byte.
enum BinaryCommand: UInt8, Sendable, Hashable, CaseIterable {
    /// The legacy format (Guide, 3.2.1): nothing is ever answered to it.
    case legacy = 0
    /// The enhanced format (Guide, 3.2.2).
    case enhanced = 1
    /// A frame of items (Guide, Table A-1).
    case items = 2

    /// In bytes: 2 kilobytes for items (Guide, Table A-3), 256 bytes for the older formats (3.2.2).
    var maximumPayloadBytes: Int { self == .items ? 2048 : 256 }

    /// Whether a fault is answered before the connection closes: with the legacy format it closes without a reason.
    var isAnswered: Bool { self != .legacy }
}

/// A notification as it was read: whole, and its payload a JSON dictionary. Whom it reaches was not looked at.
struct BinaryNotification: Sendable, Hashable {
    var command: BinaryCommand
    /// What the provider knows it by; nil where it did not say.
    var identifier: UInt32?
    var expiration: Expiration
    /// Nil where the provider did not say.
    var priority: Priority?
    var deviceToken: DeviceToken
    var payload: Payload
}

/// Why bytes are no notification, or a notification cannot be taken: the connection ends with it.
struct BinaryFault: Error, Sendable, Hashable {
    var status: BinaryStatus
    var identifier: UInt32?
    /// Nil where the first byte is none.
    var command: BinaryCommand?
}
