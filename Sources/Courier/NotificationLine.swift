import Delivery
import NIOCore
import Notifications

/// The lines of a device's stream of notifications: one JSON object each.
enum NotificationLine {
    /// An empty line, which means nothing but that the connection lives.
    static let keepAlive = ByteBuffer(string: "\n")

    /// In bytes, without the payload: as long as a line is with a topic and a bundle ID of thirty characters.
    static let usualBytes = 256

    /// Adds a notification's line. What the provider did not say is left out.
    static func write(_ sending: Sending, bundleID: BundleID, to buffer: inout ByteBuffer) {
        let notification = sending.notification
        buffer.writeStaticString(#"{"sending":"#)
        buffer.write(decimal: sending.number)
        buffer.writeStaticString(#","id":""#)
        buffer.write(notification.id)
        // A topic consists of characters that JSON does not escape.
        buffer.writeStaticString(#"","topic":""#)
        buffer.writeString(notification.topic)
        buffer.writeStaticString(#"","bundleID":""#)
        buffer.writeString(bundleID.rawValue)
        buffer.writeStaticString(#"","priority":"#)
        buffer.write(decimal: UInt64(notification.priority.rawValue))
        if let seconds = notification.expiration.seconds {
            buffer.writeStaticString(#","expiration":"#)
            buffer.write(decimal: seconds)
        }
        if let collapseID = notification.collapseID {
            buffer.writeStaticString(#","collapseID":"#)
            buffer.writeString(JSONString.quoted(collapseID.rawValue))
        }
        if let type = notification.pushType {
            buffer.writeStaticString(#","pushType":""#)
            buffer.writeString(type.rawValue)
            buffer.writeStaticString(#"""#)
        }
        buffer.writeStaticString(#","payload":"#)
        buffer.writeBytes(notification.payload.json)
        buffer.writeStaticString("}\n")
    }

    /// The last line of a stream, which says why it ends.
    static func end(_ reason: StreamEnd) -> ByteBuffer {
        let word =
            switch reason {
            case .takenOver: "takenOver"
            case .shutdown: "shutdown"
            case .revoked: "revoked"
            case .storeUnavailable: "storeUnavailable"
            }
        return ByteBuffer(string: #"{"end":"\#(word)"}"# + "\n")
    }
}

// Without a string for each number and identifier: lines are written with every push.
extension ByteBuffer {
    fileprivate mutating func write(decimal number: UInt64) {
        // 2^64 has twenty digits.
        var digits = InlineArray<20, UInt8>(repeating: 0)
        var (rest, first) = (number, 20)
        repeat {
            first -= 1
            digits[first] = UInt8(ascii: "0") + UInt8(rest % 10)
            rest /= 10
        } while rest > 0
        for index in first..<20 { writeInteger(digits[index]) }
    }

    fileprivate mutating func write(_ id: NotificationID) {
        id.forEachByte { writeInteger($0) }
    }
}
