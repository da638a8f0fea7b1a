import CommonTesting
import Delivery
import Notifications
import SQLiteStore
import Storage
import Synchronization
import Testing

/// A node that was stopped for longer than its lease, and goes on: its old streams neither send nor acknowledge, before
/// anything has ended them.
@Suite("A node whose lease has run out", .timeLimit(.minutes(1)))
struct HoldFenceTests {
    private let store: HeldStore
    private let clock = SettableClock()
    private let outcomes = RecordingOutcomes()
    private let holds = TestHolds()
    private let local: LocalSwitchboard
    private let shared: SharedSwitchboard

    init() async throws {
        let (clock, fence) = (self.clock, HoldFence(holds))
        store = try HeldStore()
        _ = try await store.memory.register(Example.destination(), tokenKeyID: 1, at: Example.moment)
        local = LocalSwitchboard(mailboxes: store, fence: fence, clock: { clock.now })
        shared = SharedSwitchboard(local, holds, fence, store, pollInterval: .milliseconds(1))
        shared.report(to: outcomes)
    }

    private func attached(_ first: UInt64 = 1000, power: DevicePower = .awake) async throws -> RecordingStream {
        let stream = RecordingStream()
        shared.attach(stream, of: Example.device, power: power)
        // The device is taken first, so offer until there is a stream.
        try await wait(while: shared.offer(offer(nil, first), now: clock.now) == .returned)
        await stream.attempts.wait { $0.contains { $0.notification.number == first } }
        return stream
    }

    private func offer(_ id: UInt64?, _ number: UInt64) -> Offer {
        Offer(
            id: id.map { OfferID(origin: OfferOrigin(rawValue: 1), number: $0) },
            destination: Example.destination(app: id == nil ? 99 : 1), notification: Example.notification(number))
    }

    @Test
    func `Nothing is sent, offered or acknowledged on its old streams`() async throws {
        let running = Task { await shared.run() }
        let stream = try await attached()
        #expect(shared.offer(offer(1, 1), now: clock.now) == .taken)
        let before = stream.numbers
        #expect(local.connected(among: [Example.device]).count == 1)
        // Not even the reading of announcements notices it.
        try await holds.stop()
        holds.state.withLock { $0.term += 1 }
        #expect(shared.offer(offer(2, 2), now: clock.now) == .returned)
        #expect(shared.offered(offer(3, 3), epoch: 1) == .elsewhere)
        shared.stored(Example.stored(4, version: 4), offer: nil)
        shared.acknowledge([try #require(stream.attempts.values.last).number], by: Example.device)
        shared.changePower(of: Example.device, to: .awake)
        clock.advance(by: .seconds(3600))
        local.tick()
        #expect(stream.numbers == before)
        #expect(local.connected(among: [Example.device]).isEmpty)
        #expect(outcomes.events.values == [] && store.removals.values.isEmpty)
        // Then it is noticed: the streams end, and what was under way is returned.
        holds.goOn()
        #expect(await stream.ends.first(1) == [.storeUnavailable])
        #expect(await outcomes.events.first(1) == [.returned(1)])
        // In the new term a device can connect again.
        let next = try await attached(1001)
        #expect(next.numbers == [1001])
        running.cancel()
        await running.value
    }

    @Test
    func `What another node sends for an earlier hold on a device is not taken`() async throws {
        let running = Task { await shared.run() }
        let first = try await attached()
        // The device connects again, and the node takes it once more.
        let stream = RecordingStream()
        shared.attach(stream, of: Example.device, power: .awake)
        #expect(await first.ends.first(1) == [.takenOver])
        try await wait(while: shared.offer(offer(nil, 1001), now: clock.now) == .returned)
        #expect(shared.offered(offer(3, 3), epoch: 1) == .elsewhere)
        shared.stored(Example.stored(4, version: 4), offer: nil, epoch: 1)
        #expect(shared.offered(offer(5, 5), epoch: 2) == nil)
        await stream.attempts.wait { $0.contains { $0.notification.number == 5 } }
        #expect(stream.numbers == [1001, 5])
        running.cancel()
        await running.value
    }

    /// Otherwise it would wait for its mailboxes for ever.
    @Test
    func `A stream whose mailboxes are read after the lease has run out ends`() async throws {
        let held = try HeldStore(holding: [.readAnswer])
        let clock = clock
        let local = LocalSwitchboard(mailboxes: held, fence: HoldFence(holds), clock: { clock.now })
        let stream = RecordingStream()
        local.attach(stream, of: Example.device, power: .awake, after: 0)
        await held.arrival(.readAnswer)
        holds.state.withLock { $0.term += 1 }
        held.open()
        #expect(await stream.ends.first(1) == [.storeUnavailable])
        #expect(local.connectedDevices == 0)
    }

    /// Makes switchboards of a node to which something happens while the first device gets its line.
    private func switchboards(
        _ happens: @escaping @Sendable (SharedSwitchboard) -> Void,
    ) -> (local: LocalSwitchboard, shared: SharedSwitchboard) {
        let (clock, fence) = (clock, HoldFence(holds))
        let next = Mutex<(@Sendable () -> Void)?>(nil)
        // A line reads the clock before it begins.
        let local = LocalSwitchboard(
            mailboxes: store, fence: fence,
            clock: {
                let first = next.withLock { next in
                    defer { next = nil }
                    return next
                }
                first?()
                return clock.now
            })
        let shared = SharedSwitchboard(local, holds, fence, store, pollInterval: .milliseconds(1))
        next.withLock { $0 = { happens(shared) } }
        return (local, shared)
    }

    /// - Parameter power: what it reports.
    @Test(arguments: [DevicePower.low, .charging])
    func `The power that a device reports while it gets its line counts`(power: DevicePower) async throws {
        let (local, shared) = switchboards { $0.changePower(of: Example.device, to: power) }
        shared.attach(RecordingStream(), of: Example.device, power: .awake)
        let running = Task { await shared.run() }
        try await wait(while: local.connected(among: [Example.device]).isEmpty)
        running.cancel()
        await running.value
        #expect(local.connected(among: [Example.device]).map(\.power) == [power])
    }

    @Test
    func `A device whose hold is given up while it gets its line keeps no stream`() async throws {
        let (local, shared) = switchboards { $0.disconnect(Example.device, because: .revoked) }
        let stream = RecordingStream()
        shared.attach(stream, of: Example.device, power: .awake)
        let running = Task { await shared.run() }
        #expect(await stream.ends.first(1) == [.revoked])
        #expect(local.connectedDevices == 0)
        running.cancel()
        await running.value
    }

    @Test
    func `A device that another node takes before the claim is answered gets no stream`() async throws {
        let local = local
        holds.state.withLock { state in
            state.announcements = [.success([.claimed(Example.device, epoch: 2)])]
            state.drainsBeforeClaim = 2
        }
        let stream = RecordingStream()
        shared.attach(stream, of: Example.device)
        let running = Task { await shared.run() }
        #expect(await stream.ends.first(1) == [.takenOver])
        #expect(local.connectedDevices == 0)
        running.cancel()
        await running.value
    }

    @Test
    func `A device that was taken before the lease ran out gets no stream after it`() async throws {
        let stream = RecordingStream()
        shared.attach(stream, of: Example.device)
        holds.state.withLock { $0.endsTermInTake = true }
        let running = Task { await shared.run() }
        #expect(await stream.ends.first(1) == [.storeUnavailable])
        #expect(local.connectedDevices == 0)
        running.cancel()
        await running.value
    }
}

/// Holds of devices whose lease ends when a test says so.
final class TestHolds: DeviceHolds {
    struct State {
        var term: UInt64 = 0
        var epoch: UInt64 = 0
        var endsTermInTake = false
        /// How often announcements are read before a claim is answered. When they are read for the second time, the first
        /// ones were handled.
        var drainsBeforeClaim = 0
        var drains = 0
        var isStopped = false
        var waiting: [CheckedContinuation<Void, Never>] = []
        /// What the next readings of announcements return.
        var announcements: [Result<[Announcement], StoreError>] = []
    }

    let state = Mutex(State())
    let whereabouts = DeviceWhereabouts()

    var holdTerm: UInt64 { state.withLock { $0.term } }

    func claim(_ devices: [DeviceKey]) async throws(StoreError) -> [DeviceHold] {
        // It fails only if the task is cancelled.
        try? await wait(while: state.withLock { $0.drains < $0.drainsBeforeClaim })
        return state.withLock { state in
            if state.endsTermInTake { state.term += 1 }
            state.epoch += 1
            return devices.map { DeviceHold(device: $0, epoch: state.epoch, previousNumber: 0) }
        }
    }

    func release(_ holds: [DeviceHold]) async throws(StoreError) {}

    func drainAnnouncements(limit: Int) async throws(StoreError) -> [Announcement] {
        await withCheckedContinuation { continuation in
            let isStopped = state.withLock { state in
                state.drains += 1
                if state.isStopped { state.waiting.append(continuation) }
                return state.isStopped
            }
            if !isStopped { continuation.resume() }
        }
        return try state.withLock { state in
            state.announcements.isEmpty ? .success([]) : state.announcements.removeFirst()
        }.get()
    }

    /// Lets the reading of announcements wait, and returns when it does.
    func stop() async throws {
        state.withLock { $0.isStopped = true }
        try await wait(while: state.withLock({ $0.waiting.isEmpty }))
    }

    func goOn() {
        let waiting = state.withLock { state in
            defer { state.waiting = [] }
            state.isStopped = false
            return state.waiting
        }
        for continuation in waiting { continuation.resume() }
    }
}
