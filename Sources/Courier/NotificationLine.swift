import Delivery
import NIOCore
import Notifications

/// The lines of a device's stream of notifications: one JSON object each.
enum NotificationLine {
    /// An empty line, which means nothing but that the connection lives.
    static let keepAlive = ByteBuffer(string: "\n")

    /// Adds a notification's line. What the provider did not say is left out.
    static func write(_ sending: Sending, bundleID: BundleID, to buffer: inout ByteBuffer) {
        let notification = sending.notification
        buffer.writeString(#"{"sending":\#(sending.number),"id":""#)
        buffer.writeBytes(notification.id.utf8)
        // A topic consists of characters that JSON does not escape.
        buffer.writeString(#"","topic":"\#(notification.topic)","bundleID":"\#(bundleID)""#)
        buffer.writeString(#","priority":\#(notification.priority.rawValue)"#)
        if let seconds = notification.expiration.seconds { buffer.writeString(#","expiration":\#(seconds)"#) }
        if let collapseID = notification.collapseID {
            buffer.writeString(#","collapseID":\#(JSONString.quoted(collapseID.rawValue))"#)
        }
        if let type = notification.pushType { buffer.writeString(#","pushType":"\#(type.rawValue)""#) }
        buffer.writeString(#","payload":"#)
        buffer.writeBytes(notification.payload.json)
        buffer.writeString("}\n")
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
