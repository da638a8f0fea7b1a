import CommonTesting
import Delivery
import NIOCore
import Notifications
import Testing

@testable import Peers

@Suite("What nodes send each other")
struct PeerRecordTests {
    private static let destination = Destination(
        environment: .production, device: DeviceID(rawValue: .max), app: AppID(rawValue: 3))
    private static let offerID = OfferID(origin: OfferOrigin(rawValue: 5), number: .max)

    private static func notification(
        _ collapseID: String? = "collapse", _ expiration: Expiration = .unspecified
    )
        -> Notification
    {
        Notification(
            id: NotificationID(high: 1, low: 2), topic: "com.example.app",
            pushType: collapseID == nil ? nil : .background,
            priority: .considerate, expiration: expiration,
            collapseID: collapseID.flatMap(CollapseIdentifier.init(rawValue:)),
            payload: Payload(stored: Array(#"{"aps":{"badge":1}}"#.utf8), contents: [.aps, .badge]))
    }

    private static var channel: ChannelKey {
        var random = SeededGenerator.random()
        return ChannelKey(
            list: ChannelList(environment: .production, app: AppID(rawValue: .max)), id: .random(using: &random))
    }

    /// A notification for a Live Activity.
    private static func activity(_ pushType: PushType?) -> Notification {
        Notification(
            id: NotificationID(high: 1, low: 3), topic: "com.example.app", pushType: pushType,
            activity: .one(ActivityID(high: 4, low: 5)),
            payload: Payload(stored: Array(#"{"aps":{"badge":1}}"#.utf8), contents: [.aps, .badge]))
    }

    private static func entry() -> StoredMailboxEntry {
        StoredMailboxEntry(
            entry: MailboxEntry(
                destination: destination, notification: notification(), expires: Timestamp(milliseconds: 9)),
            version: MailboxVersion(rawValue: 7))
    }

    private static let devices = [
        DeviceKey(environment: .production, device: DeviceID(rawValue: .max)),
        DeviceKey(environment: .development, device: DeviceID(rawValue: 0)),
    ]

    private static func connected(_ power: DevicePower, _ held: [AppID: HeldNotifications] = [:]) -> ConnectedDevice {
        ConnectedDevice(key: devices[0], since: Timestamp(milliseconds: .max), power: power, held: held)
    }

    private static let records: [PeerRecord] = {
        [
            .offer(Offer(id: offerID, destination: destination, notification: notification()), epoch: 4),
            .offer(
                Offer(
                    id: nil, destination: destination, notification: notification(nil, Expiration(seconds: .max))),
                epoch: 0),
            .stored(entry(), offer: offerID, epoch: .max), .stored(entry(), offer: nil, epoch: 1),
            .offer(Offer(id: nil, destination: destination, notification: activity(.liveActivity)), epoch: 1),
            .offer(Offer(id: nil, destination: destination, notification: activity(nil)), epoch: 1),
            .outcome(.acknowledged, offer: 1), .outcome(.returned, offer: .max), .outcome(.elsewhere, offer: 0),
            .logQuestion(3, NotificationID(high: 4, low: 5)), .logEntry(.max, #"{"time":1}"#), .logEnd(0),
            .broadcast(PeerBroadcast(channel: channel, notification: notification(), version: nil)),
            .broadcast(
                PeerBroadcast(
                    channel: channel, notification: notification(nil), version: BroadcastVersion(rawValue: .max))),
            .barrier(1), .barrierPassed(.max),
            .deviceQuestion(.max, devices), .deviceQuestion(0, []), .deviceEnd(.max),
            .connectedDevice(1, connected(.low)), .connectedDevice(1, connected(.awake)),
            .connectedDevice(
                .max,
                connected(
                    .charging,
                    [
                        AppID(rawValue: .max): HeldNotifications(
                            count: Int(UInt32.max), stored: MailboxVersion(rawValue: .max)),
                        AppID(rawValue: 0): HeldNotifications(count: 1),
                    ])),
        ]
    }()

    @Test
    func `Each record is read as it was written, also if it comes byte by byte`() throws {
        var written = ByteBuffer()
        for record in Self.records { record.write(to: &written) }
        var (unread, read): (ByteBuffer, [PeerRecord]) = (ByteBuffer(), [])
        for byte in written.readableBytesView {
            unread.writeInteger(byte)
            while let record = try PeerRecord.read(from: &unread, maximumBytes: 65_536) { read.append(record) }
        }
        #expect(read == Self.records && unread.readableBytes == 0)
    }

    @Test
    func `A message of Web Push keeps its subscription, and an earlier release reads the rest`() throws {
        let queue = Destination(
            environment: .production, device: DeviceID(rawValue: .max), app: AppID(rawValue: 3), queue: .max)
        var stored = Self.entry()
        stored.entry.destination = queue
        let records: [PeerRecord] = [
            .offer(Offer(id: Self.offerID, destination: queue, notification: Self.notification()), epoch: 4),
            .stored(stored, offer: nil, epoch: 1),
        ]
        for record in records {
            var written = ByteBuffer()
            record.write(to: &written)
            var whole = written
            #expect(try PeerRecord.read(from: &whole, maximumBytes: 65_536) == record)
            for missing in 1...3 {
                var cut = written
                cut.setInteger(UInt32(written.readableBytes - 4 - missing), at: 0)
                #expect(throws: PeerRecord.Malformed.self) { try PeerRecord.read(from: &cut, maximumBytes: 65_536) }
            }
        }
    }

    @Test
    func `A record of a later release may have more fields at its end`() throws {
        var buffer = ByteBuffer()
        PeerRecord.outcome(.returned, offer: 1).write(to: &buffer)
        buffer.setInteger(UInt32(buffer.readableBytes - 4 + 3), at: 0)
        buffer.writeBytes([1, 2, 3])
        PeerRecord.outcome(.acknowledged, offer: 2).write(to: &buffer)
        #expect(try PeerRecord.read(from: &buffer, maximumBytes: 100) == .outcome(.returned, offer: 1))
        #expect(try PeerRecord.read(from: &buffer, maximumBytes: 100) == .outcome(.acknowledged, offer: 2))
    }

    @Test
    func `Whatever is cut off or changed within a record is malformed or another record, and never a crash`() {
        for record in Self.records {
            var written = ByteBuffer()
            record.write(to: &written)
            for length in 5..<written.readableBytes {
                var short = written
                short.setInteger(UInt32(length - 4), at: 0)
                var cut = short.getSlice(at: 0, length: length) ?? ByteBuffer()
                #expect(throws: PeerRecord.Malformed.self) { try PeerRecord.read(from: &cut, maximumBytes: 65_536) }
            }
            for index in 4..<written.readableBytes {
                var changed = written
                changed.setInteger(UInt8(0xff), at: index)
                _ = try? PeerRecord.read(from: &changed, maximumBytes: 65_536)
            }
        }
    }

    @Test
    func `A question of the largest size and a device with very many apps fit into a record`() throws {
        let limits = PeerLimits()
        let asked = (0..<limits.askedDevices).map { number in
            DeviceKey(environment: .production, device: DeviceID(rawValue: UInt64(number)))
        }
        let apps = (0..<100_000 as Range<UInt32>).map { (AppID(rawValue: $0), HeldNotifications(count: 1)) }
        let device = Self.connected(.low, Dictionary(uniqueKeysWithValues: apps))
        var buffer = ByteBuffer()
        PeerRecord.deviceQuestion(1, asked).write(to: &buffer)
        PeerRecord.connectedDevice(1, device).write(to: &buffer)
        #expect(
            try PeerRecord.read(from: &buffer, maximumBytes: limits.recordBytes) == .deviceQuestion(1, asked))
        guard case .connectedDevice(1, let read)? = try PeerRecord.read(from: &buffer, maximumBytes: limits.recordBytes)
        else { return #expect(Bool(false), "There is no device.") }
        #expect(read.held.count == PeerRecord.maximumHeldApps && read.key == device.key)
    }

    @Test
    func `A record that is empty, too long, or would break a device's line is malformed`() throws {
        for length in [0, 101, UInt32.max] {
            var buffer = ByteBuffer()
            buffer.writeInteger(length)
            #expect(throws: PeerRecord.Malformed.self) { try PeerRecord.read(from: &buffer, maximumBytes: 100) }
        }
        let line = Notification(
            id: NotificationID(high: 1, low: 2), topic: "a\"b\n",
            payload: Payload(stored: Array("{}".utf8), contents: []))
        var buffer = ByteBuffer()
        PeerRecord.offer(Offer(id: nil, destination: Self.destination, notification: line), epoch: 1).write(to: &buffer)
        #expect(throws: PeerRecord.Malformed.self) { try PeerRecord.read(from: &buffer, maximumBytes: 65_536) }
    }
}
