import Delivery
import NIOCore
import Notifications

/// The lines of a device's stream of notifications: one JSON object each.
enum NotificationLine {
    /// An empty line, which means nothing but that the connection lives.
    static let keepAlive = ByteBuffer(string: "\n")

    /// In bytes, without the payload: as long as a line is with a topic and a bundle ID of thirty characters.
    private static let usualBytes = 256

    /// A notification's line. What the provider did not say is left out.
    static func of(_ sending: Sending, bundleID: BundleID) -> ByteBuffer {
        let notification = sending.notification
        let payload = notification.payload.json
        var line = ByteBufferAllocator().buffer(capacity: usualBytes + payload.count)
        line.writeStaticString(#"{"sending":"#)
        line.write(decimal: sending.number)
        line.writeStaticString(#","id":""#)
        line.write(notification.id)
        // A topic consists of characters that JSON does not escape.
        line.writeStaticString(#"","topic":""#)
        line.writeString(notification.topic)
        line.writeStaticString(#"","bundleID":""#)
        line.writeString(bundleID.rawValue)
        line.writeStaticString(#"","priority":"#)
        line.write(decimal: UInt64(notification.priority.rawValue))
        if let seconds = notification.expiration.seconds {
            line.writeStaticString(#","expiration":"#)
            line.write(decimal: seconds)
        }
        if let collapseID = notification.collapseID {
            line.writeStaticString(#","collapseID":"#)
            line.writeString(JSONString.quoted(collapseID.rawValue))
        }
        if let type = notification.pushType {
            line.writeStaticString(#","pushType":""#)
            line.writeString(type.rawValue)
            line.writeStaticString(#"""#)
        }
        line.writeStaticString(#","payload":"#)
        line.writeBytes(payload)
        line.writeStaticString("}\n")
        return line
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

// Without a string for each number and identifier, and in one piece: lines are written with every push.
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
        writeBytes(digits.span.extracting(first..<20).bytes)
    }

    fileprivate mutating func write(_ id: NotificationID) {
        var text = InlineArray<36, UInt8>(repeating: 0)
        var index = 0
        id.forEachByte {
            text[index] = $0
            index += 1
        }
        writeBytes(text.span.bytes)
    }
}
