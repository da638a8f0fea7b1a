import NIOCore

/// The packet that the service sends before it closes a connection (Guide, Figure A-2): six bytes.
struct BinaryErrorPacket: Sendable, Hashable {
    static let command: UInt8 = 8

    var status: BinaryStatus
    /// The identifier of the faulty notification, or with ``BinaryStatus/shutdown`` of the last accepted one; 0 if
    /// there is none.
    var identifier: UInt32

    /// In network order.
    var bytes: ByteBuffer {
        var buffer = ByteBuffer()
        buffer.writeMultipleIntegers(Self.command, status.rawValue, identifier)
        return buffer
    }
}
