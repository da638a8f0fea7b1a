import Delivery
import Notifications
import SQLiteStore
import Storage
import Testing

@Suite("The devices that are connected here", .timeLimit(.minutes(1)))
struct LocalSwitchboardTests {
    private let store: HeldStore
    private let clock = SettableClock()
    private let outcomes = RecordingOutcomes()
    private let switchboard: LocalSwitchboard

    init() async throws {
        let clock = self.clock
        store = try HeldStore()
        _ = try await store.memory.register(Example.destination(), tokenKeyID: 1, at: Example.moment)
        switchboard = LocalSwitchboard(mailboxes: store, clock: { clock.now })
        switchboard.report(to: outcomes)
    }

    /// Attaches a stream, and waits until its mailboxes were read, which a first notification shows.
    private func attached(_ first: UInt64 = 1000) async -> RecordingStream {
        let stream = RecordingStream()
        switchboard.attach(stream, of: Example.device)
        _ = switchboard.offer(
            Offer(id: nil, destination: Example.destination(app: 99), notification: Example.notification(first)))
        await stream.attempts.wait { $0.contains { $0.notification.number == first } }
        return stream
    }

    @Test
    func `An offer to a device that is not connected is returned`() {
        #expect(switchboard.offer(Example.offer(1)) == .returned)
        #expect(switchboard.connectedDevices == 0)
    }

    @Test
    func `An offer to a connected device is sent, and its acknowledgement reported`() async {
        let stream = await attached()
        #expect(switchboard.offer(Example.offer(1)) == .taken)
        #expect(stream.numbers == [1000, 1])
        switchboard.acknowledge([stream.attempts.values[1].number], by: Example.device)
        #expect(outcomes.events.values == [.acknowledged(1)])
    }

    @Test
    func `The contents of the mailboxes are sent to a device that connects, and removed when it acknowledges`()
        async throws
    {
        _ = await store.memory.store([Example.stored(1, version: 0).entry])
        let stream = RecordingStream()
        switchboard.attach(stream, of: Example.device)
        let attempt = try #require(await stream.attempts.first(1).first)
        #expect(attempt.notification.number == 1)
        switchboard.acknowledge([attempt.number], by: Example.device)
        _ = await store.removals.first(1)
        #expect(try await store.memory.entries(of: Example.device).isEmpty)
    }

    @Test
    func `Notifications that another node stored without an announcement are sent when the mailboxes are read again`()
        async throws
    {
        let stream = await attached()
        _ = await store.memory.store([Example.stored(1, version: 0).entry])
        switchboard.readMailboxesAgain()
        #expect(await stream.attempts.first(2).map(\.notification.number) == [1000, 1])
    }

    @Test
    func `Attempts have greater numbers than those that another node has given the device`() async throws {
        let previous: UInt64 = 1 << 52
        _ = await store.memory.store([Example.stored(1, version: 0).entry])
        let stream = RecordingStream()
        switchboard.attach(stream, of: Example.device, power: .low, after: previous)
        let attempt = try #require(await stream.attempts.first(1).first)
        #expect(attempt.number > previous)
    }

    @Test
    func `Expired contents of a mailbox are removed and not sent`() async throws {
        _ = await store.memory.store([Example.stored(1, version: 0, expires: Example.moment).entry])
        let stream = await attached()
        _ = await store.removals.first(1)
        #expect(stream.numbers == [1000])
        #expect(try await store.memory.entries(of: Example.device).isEmpty)
    }

    @Test
    func `Contents that expired before they were stored are removed and not sent`() async {
        let stream = await attached()
        let version = await store.memory.store([Example.stored(1, version: 0, expires: Example.moment).entry])
        #expect(version.count == 1)
        switchboard.stored(Example.stored(1, version: 1, expires: Example.moment), offer: nil)
        #expect(stream.numbers == [1000])
    }

    @Test
    func `A second stream takes over: the first one ends, and its offers are returned`() async {
        let first = await attached()
        _ = switchboard.offer(Example.offer(1))
        let second = await attached(1001)
        #expect(first.ends.values == [.takenOver])
        #expect(outcomes.events.values == [.returned(1)])
        #expect(switchboard.connectedDevices == 1)
        _ = switchboard.offer(Example.offer(2))
        #expect(first.numbers == [1000, 1])
        #expect(second.numbers == [1001, 2])
    }

    @Test
    func `Connected devices are listed in pages, with their power and their held notifications`() async throws {
        let stream = await attached()
        switchboard.changePower(of: Example.device, to: .low)
        #expect(switchboard.offer(Example.offer(1, priority: .considerate)) == .held)
        #expect(switchboard.offer(Example.offer(2, app: 2, priority: .considerate)) == .held)
        #expect(switchboard.offer(Example.offer(3, priority: .considerate)) == .held)
        let numbers: [UInt64] = [0, 1, 1 << 63 - 1, 1 << 63, .max]
        for number in numbers[2...] + numbers[..<2] where number != 1 {
            let key = DeviceKey(environment: .production, device: DeviceID(rawValue: number))
            switchboard.attach(RecordingStream(), of: key, power: .charging)
        }
        let twin = DeviceKey(environment: .development, device: DeviceID(rawValue: 1))
        switchboard.attach(RecordingStream(), of: twin)
        let all = switchboard.connected(in: .production, after: nil, limit: 100)
        #expect(all.map(\.key.device.rawValue) == numbers)
        #expect(all.allSatisfy { $0.since == clock.now.time })
        #expect(all.map(\.power) == [.charging, .low, .charging, .charging, .charging])
        #expect(
            all.map(\.held) == [
                [:],
                [
                    AppID(rawValue: 1): HeldNotifications(count: 2), AppID(rawValue: 2): HeldNotifications(count: 1),
                ], [:], [:], [:],
            ])
        #expect(stream.numbers == [1000])
        let page = switchboard.connected(in: .production, after: DeviceID(rawValue: 1), limit: 2)
        #expect(page.map(\.key.device.rawValue) == Array(numbers[2...3]))
        #expect(switchboard.connected(in: .production, after: DeviceID(rawValue: .max), limit: 2).isEmpty)
        #expect(switchboard.connected(in: .development, after: nil, limit: 2).map(\.key) == [twin])
        let none = DeviceKey(environment: .development, device: DeviceID(rawValue: 0))
        #expect(switchboard.connected(among: [none, twin, Example.device]).map(\.key) == [twin, Example.device])
        #expect(switchboard.connected(among: [Example.device]) == [all[1]])
    }

    @Test
    func `The end of a stream that was replaced changes nothing`() async {
        let first = await attached()
        let second = await attached(1001)
        switchboard.detach(first, of: Example.device)
        #expect(switchboard.connectedDevices == 1)
        #expect(switchboard.offer(Example.offer(1)) == .taken)
        #expect(second.numbers == [1001, 1])
        #expect(second.ends.values.isEmpty)
    }

    @Test
    func `When a stream ends its offers are returned, and so are the next ones`() async {
        let stream = await attached()
        for number in 1...3 as ClosedRange<UInt64> { _ = switchboard.offer(Example.offer(number)) }
        switchboard.detach(stream, of: Example.device)
        #expect(outcomes.events.values == [.returned(1), .returned(2), .returned(3)])
        #expect(switchboard.offer(Example.offer(4)) == .returned)
        #expect(switchboard.connectedDevices == 0)
    }

    @Test
    func `An acknowledgement after the end of its stream does not affect the next stream's attempts`() async throws {
        let first = await attached()
        _ = switchboard.offer(Example.offer(1))
        let old = first.attempts.values.map(\.number)
        switchboard.detach(first, of: Example.device)
        // The second stream begins in the same millisecond.
        let second = await attached(1001)
        _ = switchboard.offer(Example.offer(2))
        switchboard.acknowledge(old, by: Example.device)
        #expect(outcomes.events.values == [.returned(1), .acknowledged(1)])
        let numbers = second.attempts.values.map(\.number)
        #expect(try #require(numbers.min()) > #require(old.max()))
    }

    @Test
    func `An acknowledgement just after the end of its stream still empties the right mailbox`() async throws {
        let first = await attached()
        _ = switchboard.offer(Example.offer(1))
        let numbers = first.attempts.values.map(\.number)
        switchboard.detach(first, of: Example.device)
        let stored = Example.stored(1, version: 10)
        switchboard.stored(stored, offer: OfferID(1))
        switchboard.acknowledge(numbers, by: Example.device)
        let reference = MailboxReference(destination: stored.entry.destination, version: stored.version)
        await store.removals.wait { $0.contains(reference) }
        #expect(outcomes.events.values == [.returned(1), .acknowledged(1)])
    }

    @Test
    func `Numbers grow even if the clock goes back between two connections`() async throws {
        let first = await attached()
        switchboard.detach(first, of: Example.device)
        clock.setBack(by: .milliseconds(10))
        let second = await attached(1001)
        let (old, new) = (first.attempts.values.map(\.number), second.attempts.values.map(\.number))
        #expect(try #require(new.min()) > #require(old.max()))
    }

    @Test
    func `A device that is disconnected loses its stream, and its offers are returned`() async {
        let stream = await attached()
        _ = switchboard.offer(Example.offer(1))
        switchboard.disconnect(Example.device, because: .shutdown)
        #expect(stream.ends.values == [.shutdown])
        #expect(outcomes.events.values == [.returned(1)])
        switchboard.disconnect(Example.device, because: .shutdown)
        #expect(stream.ends.values.count == 1)
    }

    @Test
    func `All devices can be disconnected`() {
        let streams = (1...40 as ClosedRange<UInt64>).map { number in
            let stream = RecordingStream()
            let device = DeviceKey(environment: .production, device: DeviceID(rawValue: number))
            switchboard.attach(stream, of: device)
            return stream
        }
        #expect(switchboard.connectedDevices == 40)
        switchboard.disconnectAll(because: .shutdown)
        #expect(switchboard.connectedDevices == 0)
        #expect(streams.allSatisfy { $0.ends.values == [.shutdown] })
    }

    @Test
    func `The same device ID in the other environment is another device`() async {
        let stream = await attached()
        let twin = DeviceKey(environment: .development, device: Example.device.device)
        let offer = Offer(
            id: OfferID(1), destination: Example.destination(on: twin), notification: Example.notification(1))
        #expect(switchboard.offer(offer) == .returned)
        #expect(stream.numbers == [1000])
    }

    @Test
    func `If the mailboxes cannot be read the stream ends, and held offers are returned`() async {
        store.fail(.read, .unavailable)
        let stream = RecordingStream()
        switchboard.attach(stream, of: Example.device)
        #expect(await stream.ends.first(1) == [.storeUnavailable])
        #expect(switchboard.connectedDevices == 0)
    }

    @Test
    func `A failed reading for a stream that has ended does not end the next stream`() async throws {
        let store = try HeldStore(holding: [.readAnswer])
        let clock = self.clock
        let switchboard = LocalSwitchboard(mailboxes: store, clock: { clock.now })
        let (first, second) = (RecordingStream(), RecordingStream())
        let firstReadingEnded = Recorder<Void>()
        TaskEnd.$current.withValue(TaskEnd(firstReadingEnded)) { switchboard.attach(first, of: Example.device) }
        await store.arrival(.readAnswer)
        clock.advance(by: .milliseconds(1))
        switchboard.attach(second, of: Example.device)
        await store.arrival(.readAnswer, 2)
        // The older stream's reading came first, so this failure is for it.
        store.fail(.read, .unavailable)
        store.pass(.readAnswer)
        _ = await store.failures.first(1)
        _ = await firstReadingEnded.first(1)
        #expect(switchboard.offer(Example.offer(1)) == .taken)
        store.pass(.readAnswer)
        await second.isSentOrEnded()
        #expect(second.ends.values.isEmpty)
        #expect(switchboard.connectedDevices == 1)
    }
}

/// Records that all tasks have ended which were started while this was the current value: each keeps a reference.
private final class TaskEnd: Sendable {
    @TaskLocal static var current: TaskEnd?
    private let ended: Recorder<Void>

    init(_ ended: Recorder<Void>) { self.ended = ended }

    deinit { ended.record(()) }
}
