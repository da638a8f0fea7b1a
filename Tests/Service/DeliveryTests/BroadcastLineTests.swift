import Notifications
import Synchronization
import Testing

@testable import Delivery

@Suite("A device's line for broadcasts")
struct BroadcastLineTests {
    private static let device = DeviceKey(environment: .development, device: DeviceID(rawValue: 1))

    private final class Stream: BroadcastStream {
        let numbers = Mutex<[UInt64]>([])
        func send(_ broadcast: BroadcastMessage) { numbers.withLock { $0.append(broadcast.number) } }
        func end(_ reason: StreamEnd) {}
    }

    private static func channel(_ policy: MessageStoragePolicy = .newest) throws -> BroadcastChannel {
        let list = ChannelList(environment: .development, app: AppID(rawValue: 1))
        let id = try #require(ChannelID(rawValue: policy == .newest ? "AAAA" : "BBBB"))
        return BroadcastChannel(
            key: ChannelKey(list: list, id: id), policy: policy, created: Timestamp(milliseconds: 0))
    }

    private static func line(_ channels: [BroadcastChannel], limit: Int = 2, seen: UInt64? = nil) -> BroadcastLine {
        let line = BroadcastLine(Stream(), of: device, limit: limit)
        let (new, gone) = line.subscribe(
            to: channels.map {
                SubscribedChannel(channel: $0, seen: seen.map { BroadcastVersion(rawValue: $0) })
            })
        #expect(new.count == channels.count && gone.isEmpty)
        return line
    }

    private static func message(
        _ number: UInt64, to channel: BroadcastChannel, version: UInt64? = nil,
    ) throws -> BroadcastMessage {
        BroadcastMessage(
            number: number, channel: channel.key, bundleID: try #require(BundleID(rawValue: "com.example.app")),
            notification: Notification(
                id: NotificationID(high: number, low: 0), topic: "com.example.app",
                payload: Payload(stored: Array("{}".utf8), contents: [])),
            version: version.map { BroadcastVersion(rawValue: $0) })
    }

    @Test
    func `A stored broadcast is not sent again if the device has acknowledged it, or got it on this stream`() throws {
        let channel = try Self.channel()
        let line = Self.line([channel], limit: 10, seen: 3)
        #expect(line.admit(try Self.message(1, to: channel, version: 3), isStored: true) == .unneeded)
        #expect(line.admit(try Self.message(2, to: channel, version: 4), isStored: false) == .send)
        #expect(line.admit(try Self.message(3, to: channel, version: 4), isStored: true) == .unneeded)
        #expect(line.admit(try Self.message(4, to: channel, version: 5), isStored: true) == .send)
        // The same one on its direct way from another node is not sent again, but an older one is.
        #expect(line.admit(try Self.message(5, to: channel, version: 5), isStored: false) == .unneeded)
        #expect(line.admit(try Self.message(6, to: channel, version: 2), isStored: false) == .send)
    }

    @Test
    func `Of the acknowledged broadcasts only the newest is recorded, once`() throws {
        let channel = try Self.channel()
        let line = Self.line([channel], limit: 10)
        for number in 1...3 as ClosedRange<UInt64> {
            #expect(line.admit(try Self.message(number, to: channel, version: number), isStored: false) == .send)
        }
        #expect(line.drainMarks().isEmpty)
        #expect(!line.acknowledged([2, 1, 99]))
        #expect(line.drainMarks().map(\.version.rawValue) == [2])
        #expect(line.drainMarks().isEmpty)
    }

    @Test
    func `A device without room misses broadcasts, and reads the newest after it has caught up`() throws {
        let (keeping, other) = (try Self.channel(), try Self.channel(.none))
        let line = Self.line([keeping, other])
        #expect(line.admit(try Self.message(1, to: keeping, version: 1), isStored: false) == .send)
        #expect(line.admit(try Self.message(2, to: other), isStored: false) == .send)
        #expect(line.admit(try Self.message(3, to: other), isStored: false) == .noRoom)
        // The channel does not store broadcasts, so the missed one is lost, and there is nothing to read.
        #expect(!line.acknowledged([2]))
        #expect(line.claimChannelsToRead().isEmpty)
        #expect(line.admit(try Self.message(4, to: other), isStored: false) == .send)
        #expect(line.admit(try Self.message(5, to: keeping, version: 2), isStored: false) == .noRoom)
        #expect(line.acknowledged([4]))
        #expect(line.claimChannelsToRead() == [keeping.key])
        #expect(line.admit(try Self.message(6, to: keeping, version: 2), isStored: true) == .send)
        #expect(line.claimChannelsToRead().isEmpty)
    }

    @Test
    func `A missed broadcast that is no longer stored is read once, not after each acknowledgement`() throws {
        let channel = try Self.channel()
        let line = Self.line([channel])
        for number in 1...2 as ClosedRange<UInt64> {
            #expect(line.admit(try Self.message(number, to: channel, version: number), isStored: false) == .send)
        }
        #expect(line.admit(try Self.message(3, to: channel, version: 3), isStored: false) == .noRoom)
        #expect(line.acknowledged([1]))
        // The store has nothing: the broadcast has expired.
        #expect(line.claimChannelsToRead() == [channel.key])
        #expect(!line.acknowledged([2]))
    }

    @Test
    func `A broadcast that is missed while the store is read is read afterwards`() throws {
        let (keeping, other) = (try Self.channel(), try Self.channel(.none))
        let line = Self.line([keeping, other])
        for number in 1...2 as ClosedRange<UInt64> {
            #expect(line.admit(try Self.message(number, to: keeping, version: number), isStored: false) == .send)
        }
        #expect(line.admit(try Self.message(3, to: keeping, version: 3), isStored: false) == .noRoom)
        #expect(line.acknowledged([1]))
        #expect(line.claimChannelsToRead() == [keeping.key])
        // The store answers with the third one. Before that one is sent, there is no room for the fourth.
        #expect(line.admit(try Self.message(4, to: other), isStored: false) == .send)
        #expect(line.admit(try Self.message(5, to: keeping, version: 4), isStored: false) == .noRoom)
        #expect(line.acknowledged([2]))
        #expect(line.admit(try Self.message(6, to: keeping, version: 3), isStored: true) == .send)
        #expect(line.claimChannelsToRead() == [keeping.key])
    }

    @Test
    func `A channel without a subscription sends nothing`() throws {
        let (keeping, other) = (try Self.channel(), try Self.channel(.none))
        let line = Self.line([keeping, other])
        let (new, gone) = line.subscribe(to: [SubscribedChannel(channel: other, seen: nil)])
        #expect(new.isEmpty && gone == [keeping.key])
        #expect(line.admit(try Self.message(1, to: keeping, version: 1), isStored: false) == .unneeded)
    }

    @Test
    func `The numbers of broadcasts differ from those of a device's own notifications`() {
        // The times are in 2005, in the present, and two centuries from now.
        for milliseconds in [1_104_534_000_000, 1_795_000_000_000, 8_000_000_000_000] as [UInt64] {
            #expect(BroadcastMessage.has(milliseconds * BroadcastMessage.numbersPerMillisecond))
            #expect(!BroadcastMessage.has(milliseconds * DeviceLine.numbersPerMillisecond))
        }
    }

    @Test
    func `A channel that is removed while subscriptions are read makes them be read again`() throws {
        let channel = try Self.channel()
        var lines = BroadcastLines()
        let stream = Stream()
        _ = lines.attach(BroadcastLine(stream, of: Self.device, limit: 2))
        #expect(lines.beginLoading(Self.device) != nil)
        // The store has answered before the removal, and the answer is applied after it.
        lines.drop(channel.key)
        _ = lines.subscribe(Self.device, on: stream, to: [SubscribedChannel(channel: channel, seen: nil)])
        #expect(lines.continueLoading(Self.device, on: stream))
        _ = lines.subscribe(Self.device, on: stream, to: [])
        #expect(!lines.continueLoading(Self.device, on: stream))
        #expect(lines.subscribers(of: channel.key) == 0)
        // A device whose subscriptions are not being read needs nothing.
        lines.drop(channel.key)
        #expect(!lines.continueLoading(Self.device, on: stream))
    }

    // MARK: Power

    /// Makes the lines of a device that has just opened its stream, and whose subscriptions were read.
    private static func lines(
        _ stream: Stream,
        _ channels: [BroadcastChannel],
        seen: [ChannelKey: BroadcastVersion] = [:],
    ) -> BroadcastLines {
        var lines = BroadcastLines()
        _ = lines.attach(BroadcastLine(stream, of: device, limit: 4))
        _ = lines.beginLoading(device)
        _ = lines.subscribe(device, on: stream, to: channels.map { SubscribedChannel(channel: $0, seen: seen[$0.key]) })
        return lines
    }

    @Test
    func `What waited for the power is sent in its order, unless the subscription has ended`() throws {
        let (channel, other) = (try Self.channel(), try Self.channel(.none))
        let line = Self.line([channel, other], limit: 10)
        #expect(line.hold(try Self.message(1, to: other), isStored: false) == .send)
        #expect(line.hold(try Self.message(2, to: channel, version: 1), isStored: false) == .send)
        #expect(line.hold(try Self.message(3, to: channel, version: 2), isStored: false) == .send)
        line.drop(other.key)
        #expect(line.release(at: Timestamp(milliseconds: 0)).map(\.number) == [2, 3])
        #expect(line.release(at: Timestamp(milliseconds: 0)).isEmpty)
        #expect(line.hold(try Self.message(4, to: other), isStored: false) == .unneeded)
    }

    @Test
    func `What waits takes half of the room, and the oldest beyond it counts as missed`() throws {
        let channel = try Self.channel()
        let line = Self.line([channel], limit: 4)
        for number in 1...2 as ClosedRange<UInt64> {
            #expect(line.hold(try Self.message(number, to: channel, version: number), isStored: false) == .send)
        }
        // What waits comes first, so the channel is not read before.
        #expect(line.claimChannelsToRead().isEmpty)
        #expect(line.hold(try Self.message(3, to: channel, version: 3), isStored: false) == .noRoom)
        #expect(line.release(at: Timestamp(milliseconds: 0)).map(\.number) == [2, 3])
        #expect(line.claimChannelsToRead() == [channel.key])
    }

    @Test
    func `A device that has just opened its stream gets what is stored, whatever its power`() throws {
        let (channel, other) = (try Self.channel(), try Self.channel(.none))
        let stream = Stream()
        let lines = Self.lines(stream, [channel, other])
        func send(_ message: BroadcastMessage) {
            lines.send(message, to: Self.device, on: stream, at: Timestamp(milliseconds: 0)) { _ in false }
        }
        send(try Self.message(1, to: channel, version: 1))
        #expect(stream.numbers.withLock(\.self) == [1])
        #expect(!lines.continueLoading(Self.device, on: stream))
        send(try Self.message(2, to: channel, version: 2))
        #expect(stream.numbers.withLock(\.self) == [1])
        #expect(lines.release(Self.device, at: Timestamp(milliseconds: 0)).count == 1)
        #expect(stream.numbers.withLock(\.self) == [1, 2])
    }

    @Test
    func `What waits is sent before an urgent broadcast that is read from the store`() throws {
        let channel = try Self.channel()
        let stream = Stream()
        let lines = Self.lines(stream, [channel])
        let waits = lines.admit(
            try Self.message(1, to: channel, version: 1), isStored: false, at: Timestamp(milliseconds: 0)
        ) { _ in false }
        #expect(waits.held == 1)
        lines.send(
            try Self.message(2, to: channel, version: 2), to: Self.device, on: stream, at: Timestamp(milliseconds: 0),
            isAwake: nil)
        #expect(stream.numbers.withLock(\.self) == [1, 2])
    }

    @Test
    func `Broadcasts that wait for an ended subscription do not keep a new one from being read`() throws {
        let channel = try Self.channel()
        let line = Self.line([channel], limit: 10)
        #expect(line.hold(try Self.message(1, to: channel, version: 1), isStored: false) == .send)
        _ = line.subscribe(to: [])
        _ = line.subscribe(to: [SubscribedChannel(channel: channel, seen: nil)])
        #expect(line.claimChannelsToRead() == [channel.key])
        #expect(line.release(at: Timestamp(milliseconds: 0)).isEmpty)
    }

    @Test
    func `A broadcast that can be read again does not push out one that cannot`() throws {
        let (keeping, other) = (try Self.channel(), try Self.channel(.none))
        let line = Self.line([keeping, other], limit: 4)
        #expect(line.admit(try Self.message(1, to: other), isStored: false) == .send)
        for number in 2...3 as ClosedRange<UInt64> {
            #expect(line.hold(try Self.message(number, to: other), isStored: false) == .send)
        }
        #expect(line.hold(try Self.message(4, to: keeping, version: 1), isStored: true) == .noRoom)
        // It is not read before there is room for it.
        #expect(!line.acknowledged([1]))
        #expect(line.release(at: Timestamp(milliseconds: 0)).map(\.number) == [2, 3])
        #expect(line.canCatchUp)
        #expect(line.claimChannelsToRead() == [keeping.key])
    }

    @Test
    func `A stored broadcast that the device has had does not wake it`() throws {
        let (keeping, other) = (try Self.channel(), try Self.channel(.none))
        let stream = Stream()
        let lines = Self.lines(stream, [keeping, other], seen: [keeping.key: BroadcastVersion(rawValue: 1)])
        _ = lines.continueLoading(Self.device, on: stream)
        let now = Timestamp(milliseconds: 0)
        #expect(lines.admit(try Self.message(1, to: other), isStored: false, at: now) { _ in false }.held == 1)
        let old = try Self.message(2, to: keeping, version: 1)
        lines.send(old, to: Self.device, on: stream, at: now, isAwake: nil)
        _ = lines.admit(old, isStored: false, at: now)
        #expect(stream.numbers.withLock(\.self) == [])
    }
}
