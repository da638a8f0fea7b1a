import Foundation
import NIOCore
import Notifications

/// A notification for the legacy binary API (Guide, 3.1). Its topic is the UID of the provider certificate's subject.
public struct BinaryPush: Sendable, Hashable {
    /// The largest size of a field, in bytes. The service accepts less: 2,048 bytes of payload.
    public static let maximumFieldBytes = 65_535

    let deviceToken: [UInt8]
    let payload: [UInt8]
    /// The time at which the notification expires, in seconds since 1970. 0 means a single attempt; nil means that
    /// the service decides.
    public var expiration: UInt32?
    /// The priority: 10 or 5; nil means 10.
    public var priority: UInt8?

    /// Creates a notification.
    /// - Parameters:
    ///   - deviceToken: the device token as hexadecimal digits.
    ///   - payload: a JSON dictionary in UTF-8.
    ///   - expiration: the time at which the notification expires, in seconds since 1970. 0 means a single attempt;
    ///     nil means that the service decides.
    ///   - priority: 10 or 5; nil means 10.
    /// - Throws: ``ProviderError/Code/badNotification`` if the device token is not hexadecimal digits, or if a value
    ///   is too large for its field. Everything else is left to the service.
    public init(
        deviceToken: String,
        payload: [UInt8],
        expiration: UInt32? = nil,
        priority: UInt8? = nil,
    ) throws(ProviderError) {
        let digits = deviceToken.utf8.map(Hexadecimal.value(of:))
        guard digits.count.isMultiple(of: 2), digits.count <= Self.maximumFieldBytes, !digits.contains(nil) else {
            throw ProviderError(.badNotification, "The device token does not consist of pairs of hexadecimal digits.")
        }
        guard payload.count <= Self.maximumFieldBytes else {
            throw ProviderError(
                .badNotification, "The payload has \(payload.count) bytes; the service accepts 2,048 at most.")
        }
        self.deviceToken = stride(from: 0, to: digits.count, by: 2).map {
            (digits[$0] ?? 0) << 4 | (digits[$0 + 1] ?? 0)
        }
        self.payload = payload
        self.expiration = expiration
        self.priority = priority
    }

    /// Writes the notification as a frame of items (Guide, Tables ).
    func write(_ identifier: UInt32, to buffer: inout ByteBuffer) {
        Self.writeFrame(to: &buffer) { buffer in
            Self.writeItem(.deviceToken, deviceToken, to: &buffer)
            Self.writeItem(.payload, payload, to: &buffer)
            buffer.writeMultipleIntegers(Item.identifier.rawValue, UInt16(4), identifier)
            if let expiration { buffer.writeMultipleIntegers(Item.expiration.rawValue, UInt16(4), expiration) }
            if let priority { buffer.writeMultipleIntegers(Item.priority.rawValue, UInt16(1), priority) }
        }
    }

    /// Writes a notification without a device token and payload. The service does not answer valid notifications, so
    /// the error packet for this one is the only confirmation that all before it were accepted.
    static func writeProbe(_ identifier: UInt32, to buffer: inout ByteBuffer) {
        writeFrame(to: &buffer) { buffer in
            buffer.writeMultipleIntegers(Item.identifier.rawValue, UInt16(4), identifier)
        }
    }

    private enum Item: UInt8 {
        case deviceToken = 1
        case payload = 2
        case identifier = 3
        case expiration = 4
        case priority = 5
    }

    private static let command: UInt8 = 2

    private static func writeFrame(to buffer: inout ByteBuffer, _ items: (inout ByteBuffer) -> Void) {
        buffer.writeInteger(command)
        let length = buffer.writerIndex
        buffer.writeInteger(UInt32(0))
        let start = buffer.writerIndex
        items(&buffer)
        buffer.setInteger(UInt32(buffer.writerIndex - start), at: length)  // fits: three fields of 64 KB at most
    }

    private static func writeItem(_ item: Item, _ data: [UInt8], to buffer: inout ByteBuffer) {
        buffer.writeMultipleIntegers(item.rawValue, UInt16(data.count))  // fits: maximumFieldBytes
        buffer.writeBytes(data)
    }
}
