import Notifications
import NIOCore

/// The packet of six bytes that the service sends before it closes a connection because of a fault (Guide, Figure
///
struct BinaryErrorPacket: Sendable, Hashable {
    static let command: UInt8 = 8

    var status: BinaryStatus
    /// The identifier of the faulty notification. With ``BinaryStatus/shutdown``, that of the last accepted one. 0 if
    /// there is none.
    var identifier: UInt32

    /// The packet's bytes, in network byte order.
    var bytes: ByteBuffer {
        var buffer = ByteBuffer()
        buffer.writeMultipleIntegers(Self.command, status.rawValue, identifier)
        return buffer
    }
}
