import Delivery
import NIOCore
import Notifications

/// A message between nodes. It consists of its length in four bytes, its kind in one byte, and its fields.
enum PeerRecord: Sendable, Hashable {
    case offer(Offer, epoch: UInt64)
    case stored(StoredMailboxEntry, offer: OfferID?, epoch: UInt64)
    case outcome(PeerOutcome, offer: UInt64)
    /// Requests all delivery log entries about a notification.
    case logQuestion(UInt64, NotificationID)
    /// Sends one entry in answer to a question.
    case logEntry(UInt64, String)
    /// Ends the answer to a question.
    case logEnd(UInt64)
    /// Only for nodes that say in their greeting that they know it.
    case broadcast(PeerBroadcast)
    /// Asks the other node to send the number back, after everything that it has sent before. Only for nodes that say in
    /// their greeting that they know it, as its answer is.
    case barrier(UInt64)
    case barrierPassed(UInt64)
    /// Asks which of these devices are connected to the other node. Only for nodes that say in their greeting that they
    /// know it, as its answer is.
    case deviceQuestion(UInt64, [DeviceKey])
    /// Sends one connected device in answer to a question.
    case connectedDevice(UInt64, ConnectedDevice)
    /// Ends the answer to a question.
    case deviceEnd(UInt64)

    private enum Kind: UInt8 {
        case offer = 1
        case stored = 2
        case outcome = 3
        case logQuestion = 4
        case logEntry = 5
        case logEnd = 6
        case broadcast = 7
        case barrier = 8
        case barrierPassed = 9
        case deviceQuestion = 10
        case connectedDevice = 11
        case deviceEnd = 12
    }

    /// The bytes do not follow this protocol.
    struct Malformed: Error {}

    // MARK: Writing

    /// Appends the record.
    func write(to buffer: inout ByteBuffer) {
        let start = buffer.writerIndex
        buffer.writeInteger(UInt32(0))
        switch self {
        case .offer(let offer, let epoch):
            buffer.writeInteger(Kind.offer.rawValue)
            buffer.writeInteger(epoch)
            Self.write(offer.id, to: &buffer)
            Self.write(offer.destination, to: &buffer)
            Self.write(offer.notification, to: &buffer)
            Self.write(queue: offer.destination.queue, to: &buffer)
        case .stored(let stored, let offer, let epoch):
            buffer.writeInteger(Kind.stored.rawValue)
            buffer.writeInteger(epoch)
            Self.write(offer, to: &buffer)
            buffer.writeInteger(stored.version.rawValue)
            buffer.writeInteger(stored.entry.expires.milliseconds)
            Self.write(stored.entry.destination, to: &buffer)
            Self.write(stored.entry.notification, to: &buffer)
            Self.write(queue: stored.entry.destination.queue, to: &buffer)
        case .outcome(let outcome, let offer):
            buffer.writeInteger(Kind.outcome.rawValue)
            buffer.writeInteger(outcome.rawValue)
            buffer.writeInteger(offer)
        case .logQuestion(let number, let id):
            buffer.writeInteger(Kind.logQuestion.rawValue)
            buffer.writeInteger(number)
            buffer.writeInteger(id.high)
            buffer.writeInteger(id.low)
        case .logEntry(let number, let line):
            buffer.writeInteger(Kind.logEntry.rawValue)
            buffer.writeInteger(number)
            Self.write(line.utf8, to: &buffer)
        case .logEnd(let number):
            buffer.writeInteger(Kind.logEnd.rawValue)
            buffer.writeInteger(number)
        case .broadcast(let broadcast):
            buffer.writeInteger(Kind.broadcast.rawValue)
            buffer.writeInteger(UInt8(broadcast.channel.list.environment == .development ? 0 : 1))
            buffer.writeInteger(broadcast.channel.list.app.rawValue)
            Self.write(broadcast.channel.id.rawValue.utf8, to: &buffer)
            buffer.writeInteger(UInt8(broadcast.version == nil ? 0 : 1))
            buffer.writeInteger(broadcast.version?.rawValue ?? 0)
            Self.write(broadcast.notification, to: &buffer)
        case .barrier(let number):
            buffer.writeInteger(Kind.barrier.rawValue)
            buffer.writeInteger(number)
        case .barrierPassed(let number):
            buffer.writeInteger(Kind.barrierPassed.rawValue)
            buffer.writeInteger(number)
        case .deviceQuestion(let number, let devices):
            buffer.writeInteger(Kind.deviceQuestion.rawValue)
            buffer.writeInteger(number)
            Self.write(devices, to: &buffer)
        case .connectedDevice(let number, let device):
            buffer.writeInteger(Kind.connectedDevice.rawValue)
            buffer.writeInteger(number)
            Self.write(device, to: &buffer)
        case .deviceEnd(let number):
            buffer.writeInteger(Kind.deviceEnd.rawValue)
            buffer.writeInteger(number)
        }
        let length = buffer.writerIndex - start - 4
        buffer.setInteger(UInt32(clamping: length), at: start)
    }

    private static func write(_ offer: OfferID?, to buffer: inout ByteBuffer) {
        buffer.writeInteger(UInt8(offer == nil ? 0 : 1))
        guard let offer else { return }
        buffer.writeInteger(offer.origin.rawValue)
        buffer.writeInteger(offer.number)
    }

    private static func write(_ destination: Destination, to buffer: inout ByteBuffer) {
        buffer.writeInteger(UInt8(destination.environment == .development ? 0 : 1))
        buffer.writeInteger(destination.device.rawValue)
        buffer.writeInteger(destination.app.rawValue)
    }

    /// The number of a subscription comes last, because earlier releases ignore what follows. 0 is not written.
    private static func write(queue: UInt32, to buffer: inout ByteBuffer) {
        if queue != 0 { buffer.writeInteger(queue) }
    }

    private static func write(_ notification: Notification, to buffer: inout ByteBuffer) {
        buffer.writeInteger(notification.id.high)
        buffer.writeInteger(notification.id.low)
        buffer.writeInteger(notification.priority.rawValue)
        buffer.writeInteger(UInt8(notification.expiration.seconds == nil ? 0 : 1))
        buffer.writeInteger(notification.expiration.seconds ?? 0)
        write(notification.topic.utf8, to: &buffer)
        // With the Live Activity, as stores keep it.
        write((StoredPushType(notification).text ?? "").utf8, to: &buffer)
        write((notification.collapseID?.rawValue ?? "").utf8, to: &buffer)
        buffer.writeInteger(notification.payload.contents.rawValue)
        write(notification.payload.json, to: &buffer)
    }

    private static func write(_ bytes: some Collection<UInt8>, to buffer: inout ByteBuffer) {
        buffer.writeInteger(UInt32(clamping: bytes.count))
        buffer.writeBytes(bytes)
    }

    // MARK: Reading

    /// Reads the next record.
    /// - Returns: nil if it is not complete yet.
    static func read(from buffer: inout ByteBuffer, maximumBytes: Int) throws(Malformed) -> PeerRecord? {
        guard let length = buffer.getInteger(at: buffer.readerIndex, as: UInt32.self) else { return nil }
        guard length >= 1, length <= maximumBytes else { throw Malformed() }
        guard buffer.readableBytes >= 4 + Int(length) else { return nil }  // fits: 32 bits
        buffer.moveReaderIndex(forwardBy: 4)
        guard var body = buffer.readSlice(length: Int(length)) else { throw Malformed() }  // fits: 32 bits
        let record = try read(&body)
        // Ignore the rest: a later release may add fields at the end.
        return record
    }

    private static func read(_ body: inout ByteBuffer) throws(Malformed) -> PeerRecord {
        switch Kind(rawValue: try integer(&body)) {
        case .offer:
            let epoch: UInt64 = try integer(&body)
            let id = try offer(&body)
            var destination = try destination(&body)
            let notification = try notification(&body)
            destination = try queue(of: destination, &body)
            return .offer(Offer(id: id, destination: destination, notification: notification), epoch: epoch)
        case .stored:
            let epoch: UInt64 = try integer(&body)
            let offer = try offer(&body)
            let (version, expires): (UInt64, UInt64) = (try integer(&body), try integer(&body))
            let destination = try destination(&body)
            let notification = try notification(&body)
            let entry = MailboxEntry(
                destination: try queue(of: destination, &body), notification: notification,
                expires: Timestamp(milliseconds: expires))
            return .stored(
                StoredMailboxEntry(entry: entry, version: MailboxVersion(rawValue: version)), offer: offer,
                epoch: epoch)
        case .outcome:
            guard let outcome = PeerOutcome(rawValue: try integer(&body)) else { throw Malformed() }
            return .outcome(outcome, offer: try integer(&body))
        case .logQuestion:
            let number: UInt64 = try integer(&body)
            return .logQuestion(number, NotificationID(high: try integer(&body), low: try integer(&body)))
        case .logEntry:
            let number: UInt64 = try integer(&body)
            return .logEntry(number, try text(&body))
        case .logEnd: return .logEnd(try integer(&body))
        case .broadcast:
            let list = ChannelList(
                environment: try flag(&body) ? .production : .development, app: AppID(rawValue: try integer(&body)))
            guard let id = ChannelID(rawValue: try text(&body)) else { throw Malformed() }
            let (isStored, version): (Bool, UInt64) = (try flag(&body), try integer(&body))
            return .broadcast(
                PeerBroadcast(
                    channel: ChannelKey(list: list, id: id), notification: try notification(&body),
                    version: isStored ? BroadcastVersion(rawValue: version) : nil))
        case .barrier: return .barrier(try integer(&body))
        case .barrierPassed: return .barrierPassed(try integer(&body))
        case .deviceQuestion: return .deviceQuestion(try integer(&body), try devices(&body))
        case .connectedDevice: return .connectedDevice(try integer(&body), try connectedDevice(&body))
        case .deviceEnd: return .deviceEnd(try integer(&body))
        case nil: throw Malformed()
        }
    }

    static func integer<Value: FixedWidthInteger>(_ body: inout ByteBuffer) throws(Malformed) -> Value {
        guard let value = body.readInteger(as: Value.self) else { throw Malformed() }
        return value
    }

    private static func bytes(_ body: inout ByteBuffer) throws(Malformed) -> [UInt8] {
        let length: UInt32 = try integer(&body)
        guard let bytes = body.readBytes(length: Int(length)) else { throw Malformed() }  // fits: 32 bits
        return bytes
    }

    private static func text(_ body: inout ByteBuffer) throws(Malformed) -> String {
        String(decoding: try bytes(&body), as: UTF8.self)
    }

    static func flag(_ body: inout ByteBuffer) throws(Malformed) -> Bool {
        let value: UInt8 = try integer(&body)
        guard value <= 1 else { throw Malformed() }
        return value == 1
    }

    private static func offer(_ body: inout ByteBuffer) throws(Malformed) -> OfferID? {
        guard try flag(&body) else { return nil }
        return OfferID(origin: OfferOrigin(rawValue: try integer(&body)), number: try integer(&body))
    }

    private static func destination(_ body: inout ByteBuffer) throws(Malformed) -> Destination {
        Destination(
            environment: try flag(&body) ? .production : .development,
            device: DeviceID(rawValue: try integer(&body)), app: AppID(rawValue: try integer(&body)))
    }

    /// Reads the number of a subscription at the end of a record, which only messages of Web Push have.
    private static func queue(of app: Destination, _ body: inout ByteBuffer) throws(Malformed) -> Destination {
        guard body.readableBytes > 0 else { return app }
        let queue: UInt32 = try integer(&body)
        return Destination(environment: app.environment, device: app.device, app: app.app, queue: queue)
    }

    private static func notification(_ body: inout ByteBuffer) throws(Malformed) -> Notification {
        let id = NotificationID(high: try integer(&body), low: try integer(&body))
        guard let priority = Priority(rawValue: try integer(&body)) else { throw Malformed() }
        let hasExpiration = try flag(&body)
        let seconds: UInt64 = try integer(&body)
        let (topic, pushType, collapseID) = (try text(&body), try text(&body), try text(&body))
        let (type, collapse) = (StoredPushType(pushType), CollapseIdentifier(rawValue: collapseID))
        guard pushType.isEmpty || type != nil, collapseID.isEmpty || collapse != nil else { throw Malformed() }
        let contents = Payload.Contents(rawValue: try integer(&body))
        let notification = Notification(
            id: id, topic: topic, pushType: pushType.isEmpty ? nil : type?.pushType, priority: priority,
            expiration: hasExpiration ? Expiration(seconds: seconds) : .unspecified,
            collapseID: collapseID.isEmpty ? nil : collapse, activity: pushType.isEmpty ? nil : type?.activity,
            payload: Payload(stored: try bytes(&body), contents: contents))
        // Check the notification, because it becomes a line of a device's stream without further checks.
        guard notification.isSound else { throw Malformed() }
        return notification
    }
}
