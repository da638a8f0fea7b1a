import NIOCore

/// What the service says before it closes a connection (Guide, Figure A-2): six bytes.
struct BinaryErrorPacket: Sendable, Hashable {
    static let command: UInt8 = 8

    var status: BinaryStatus
    /// That of the faulty notification, or with ``BinaryStatus/shutdown`` of the last good one; 0 where there is none.
    var identifier: UInt32

    /// In network order.
    var bytes: ByteBuffer {
        var buffer = ByteBuffer()
        buffer.writeMultipleIntegers(Self.command, status.rawValue, identifier)
        return buffer
    }
}
