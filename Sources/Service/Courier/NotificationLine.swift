import Delivery
import NIOCore
import Notifications

/// The lines of a device's stream of notifications, one JSON object each.
enum NotificationLine {
    /// An empty line, which only shows that the connection is alive.
    static let keepAlive = ByteBuffer(string: "\n")

    /// The largest size, in bytes, of a line without the texts that come from outside. The names and separators take
    /// 140 bytes, three numbers 60 and two identifiers 72.
    private static let frameBytes = 275

    /// Returns a notification's line, without the values that the provider did not give.
    /// - Parameter clock: converts the expiration to the device's time, which may differ from the service's.
    static func of(_ attempt: DeliveryAttempt, bundleID: BundleID, clock: ServiceClock) -> ByteBuffer {
        if attempt.notification.isWebPush { return webPush(attempt, bundleID: bundleID, clock: clock) }
        return of(
            attempt.notification, number: attempt.number, app: attempt.destination.app, bundleID: bundleID,
            channel: nil,
            clock: clock)
    }

    /// Returns a broadcast's line, which has its channel as well.
    static func of(_ broadcast: BroadcastMessage, clock: ServiceClock) -> ByteBuffer {
        of(
            broadcast.notification, number: broadcast.number, app: broadcast.channel.list.app,
            bundleID: broadcast.bundleID, channel: broadcast.channel.id, clock: clock)
    }

    private static func of(
        _ notification: Notification,
        number: UInt64,
        app: AppID,
        bundleID: BundleID,
        channel: ChannelID?,
        clock: ServiceClock,
    ) -> ByteBuffer {
        let payload = notification.payload.json
        // A topic has only characters that JSON does not escape.
        let (topic, bundleID) = (notification.topic.utf8, bundleID.rawValue.utf8)
        let collapseID = notification.collapseID.map { JSONString.quoted($0.rawValue).utf8 }
        let pushType = notification.pushType?.rawValue.utf8
        let channel = channel?.rawValue.utf8
        let texts =
            topic.count + bundleID.count + (collapseID?.count ?? 0) + (pushType?.count ?? 0) + (channel?.count ?? 0)
        return ByteBufferAllocator().buffer(capacity: frameBytes + texts + payload.count) { line in
            line.append(#"{"sending":"#)
            line.append(decimal: number)
            line.append(#","id":""#)
            line.append(notification.id.text.span.bytes)
            line.append(#"","topic":""#)
            line.append(topic)
            line.append(#"","bundleID":""#)
            line.append(bundleID)
            if let channel {
                line.append(#"","channel":""#)
                line.append(channel)
            }
            switch notification.activity {
            case .one(let id):
                line.append(#"","activity":""#)
                line.append(id.text.span.bytes)
                line.append(#"","priority":"#)
            case .start: line.append(#"","startToken":true,"priority":"#)
            case nil: line.append(#"","priority":"#)
            }
            line.append(decimal: UInt64(notification.priority.rawValue))  // fits: a byte
            if let seconds = clock.clientExpiration(of: notification.expiration, for: app).seconds {
                line.append(#","expiration":"#)
                line.append(decimal: seconds)
            }
            if let collapseID {
                line.append(#","collapseID":"#)
                line.append(collapseID)
            }
            if let pushType {
                line.append(#","pushType":""#)
                line.append(pushType)
                line.append(#"""#)
            }
            line.append(#","payload":"#)
            line.append(payload.span.bytes)
            line.append("}\n")
        }
    }

    /// Returns the line of a message of Web Push. It ends with what the payload holds: `subscription` and `webPush`.
    private static func webPush(
        _ attempt: DeliveryAttempt,
        bundleID: BundleID,
        clock: ServiceClock,
    ) -> ByteBuffer {
        let notification = attempt.notification
        let (payload, topic) = (notification.payload.json, notification.topic.utf8)
        let (bundleID, pushType) = (bundleID.rawValue.utf8, PushType.webPush.rawValue.utf8)
        let texts = topic.count + bundleID.count + pushType.count
        return ByteBufferAllocator().buffer(capacity: frameBytes + texts + payload.count) { line in
            line.append(#"{"sending":"#)
            line.append(decimal: attempt.number)
            line.append(#","id":""#)
            line.append(notification.id.text.span.bytes)
            line.append(#"","topic":""#)
            line.append(topic)
            line.append(#"","bundleID":""#)
            line.append(bundleID)
            line.append(#"","pushType":""#)
            line.append(pushType)
            line.append(#"","priority":"#)
            line.append(decimal: UInt64(notification.priority.rawValue))  // fits: a byte
            let app = attempt.destination.app
            if let seconds = clock.clientExpiration(of: notification.expiration, for: app).seconds {
                line.append(#","expiration":"#)
                line.append(decimal: seconds)
            }
            line.append(",")
            // Without its first brace. A payload is a JSON dictionary, so it has one.
            line.append(payload.span.bytes.extracting(droppingFirst: 1))
            line.append("\n")
        }
    }

    /// Returns the last line of a stream, with the reason for its end.
    static func lastLine(for reason: StreamEnd) -> ByteBuffer {
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

// No text is made for a number or identifier, and no memory is requested for each piece, because lines are written
// with every push.
extension OutputRawSpan {
    fileprivate mutating func append(_ bytes: RawSpan) {
        bytes.withUnsafeBytes { copy($0) }
    }

    fileprivate mutating func append(_ text: StaticString) {
        text.withUTF8Buffer { copy(UnsafeRawBufferPointer($0)) }
    }

    fileprivate mutating func append(_ text: String.UTF8View) { append(text.span.bytes) }

    fileprivate mutating func append(decimal number: UInt64) {
        // 2^64 has twenty digits.
        var digits = InlineArray<20, UInt8>(repeating: 0)
        var (rest, first) = (number, 20)
        repeat {
            first -= 1
            digits[first] = UInt8(ascii: "0") + UInt8(rest % 10)  // fits: a digit
            rest /= 10
        } while rest > 0
        append(digits.span.extracting(first..<20).bytes)
    }

    private mutating func copy(_ bytes: UnsafeRawBufferPointer) {
        // There is room for all of it, because the size was computed before. If that were ever wrong, a release would
        // send a line that is cut off, which the device refuses, in place of ending for everybody.
        assert(bytes.count <= freeCapacity)
        let fitting = UnsafeRawBufferPointer(start: bytes.baseAddress, count: min(bytes.count, freeCapacity))
        withUnsafeMutableBytes { target, count in
            UnsafeMutableRawBufferPointer(rebasing: target[count...]).copyMemory(from: fitting)
            count += fitting.count
        }
    }
}
