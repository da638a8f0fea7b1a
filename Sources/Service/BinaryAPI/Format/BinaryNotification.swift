import Notifications

/// The three formats of a notification. The first byte says which one it is.
enum BinaryCommand: UInt8, Sendable, Hashable, CaseIterable {
    /// The legacy format (Guide, 3.2.1). It never gets an answer.
    case legacy = 0
    /// The enhanced format (Guide, 3.2.2).
    case enhanced = 1
    /// A frame of items (Guide, Table A-1).
    case items = 2

    /// The largest payload in bytes: 2 kilobytes for items (Guide, Table A-3), 256 bytes for the older formats
    /// (3.2.2).
    var maximumPayloadBytes: Int { self == .items ? 2048 : 256 }

    /// Whether the provider gets an error packet after a fault. With the legacy format, the service only closes the
    /// connection.
    var isAnswered: Bool { self != .legacy }
}

/// A complete notification. Its payload was checked to be a JSON dictionary, its device token was not checked yet.
struct BinaryNotification: Sendable, Hashable {
    var command: BinaryCommand
    /// The identifier that the provider gave it; nil if it gave none.
    var identifier: UInt32?
    var expiration: Expiration
    /// Nil if the provider gave none.
    var priority: Priority?
    var deviceToken: DeviceToken
    var payload: Payload
}

/// Why bytes are not a notification, or why a notification cannot be accepted. The fault ends the connection.
struct BinaryFault: Error, Sendable, Hashable {
    var status: BinaryStatus
    var identifier: UInt32?
    /// The command; nil if the first byte is not a command.
    var command: BinaryCommand?
    /// Whether the frame has an identifier and neither device token nor payload. A client sends it to learn that everything
    /// before it was accepted, because accepted notifications get no answer.
    var isProbe = false
}
