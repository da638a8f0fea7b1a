@testable import Delivery
import SQLiteStore
import Notifications
import Storage
import Testing

/// The events of a notification's life in the delivery log.
@Suite("Delivery: what the log says", .timeLimit(.minutes(1)))
struct DeliveryLogTests {
    /// The kinds of the events, without times.
    private func kinds(_ rig: DeliveryRig, _ number: UInt64) -> [String] {
        rig.log.steps(of: number).map { step in
            switch step {
            case .stored: "stored"
            case .acknowledged: "acknowledged"
            default: "\(step)"
            }
        }
    }

    @Test
    func `For a connected device: accepted, sent, acknowledged`() async throws {
        let rig = try await DeliveryRig()
        let stream = await rig.online()
        rig.submit(1)
        _ = await stream.attempts.first(2)
        rig.acknowledge(1, on: stream)
        await rig.answered(1)
        #expect(kinds(rig, 1) == ["accepted", "sent", "acknowledged"])
    }

    @Test
    func `For a disconnected device: accepted, stored; then sent and acknowledged when it connects`() async throws {
        let rig = try await DeliveryRig()
        rig.submit(1)
        await rig.answered(1)
        #expect(kinds(rig, 1) == ["accepted", "stored"])
        let stream = rig.attach()
        _ = await stream.attempts.first(1)
        rig.acknowledge(1, on: stream)
        #expect(kinds(rig, 1) == ["accepted", "stored", "sent", "acknowledged"])
    }

    @Test
    func `A rejection has its reason`() async throws {
        let rig = try await DeliveryRig()
        rig.submit(1, generation: 2)
        rig.submit(2, app: 99)
        #expect(rig.log.steps(of: 1) == [.rejected(.badDeviceToken)])
        #expect(rig.log.steps(of: 2) == [.rejected(.badDeviceToken)])
    }

    @Test
    func `If storing fails, a notification is rejected after it was accepted`() async throws {
        let rig = try await DeliveryRig()
        rig.store.fail(.store, .unavailable)
        rig.submit(1)
        await rig.answered(1)
        #expect(rig.log.steps(of: 1) == [.accepted, .rejected(.serviceUnavailable)])
    }

    @Test
    func `Of those that wait for the disk the newest is stored, and the others name the one that replaced them`()
        async throws
    {
        let rig = try await DeliveryRig(holding: [.store])
        rig.submit(9, app: 2)  // The store is busy with it.
        await rig.store.arrival(.store)
        rig.submit(1, collapseID: "score")
        rig.submit(2, collapseID: "score")
        rig.submit(3)
        rig.store.open()
        for ticket in [1, 2, 3] as [UInt64] { await rig.answered(ticket) }
        #expect(rig.log.steps(of: 1) == [.accepted, .replaced(by: NotificationID(high: 0, low: 3))])
        #expect(rig.log.steps(of: 2) == [.accepted, .replaced(by: NotificationID(high: 0, low: 3))])
        #expect(kinds(rig, 3) == ["accepted", "stored"])
    }

    @Test
    func `A notification with the same collapse identifier names the one it was coalesced into`() async throws {
        let rig = try await DeliveryRig(holding: [.store])
        rig.submit(9, app: 2)
        await rig.store.arrival(.store)
        rig.submit(1, collapseID: "score")
        rig.submit(2, collapseID: "score")
        rig.store.open()
        for ticket in [1, 2] as [UInt64] { await rig.answered(ticket) }
        #expect(rig.log.steps(of: 1) == [.accepted, .coalesced(into: NotificationID(high: 0, low: 2))])
    }

    @Test
    func `A notification that must not be stored and reaches no device is discarded`() async throws {
        let rig = try await DeliveryRig()
        rig.submit(1, .immediately)
        #expect(rig.log.steps(of: 1) == [.accepted, .discarded(.oneAttempt)])
        let stream = await rig.online()
        rig.submit(2, .immediately)
        rig.switchboard.detach(stream, of: Example.device)
        #expect(rig.log.steps(of: 2) == [.accepted, .sent, .discarded(.oneAttempt)])
    }

    @Test
    func `A held notification is recorded once, and sent after the interval`() async throws {
        let rig = try await DeliveryRig()
        let stream = await rig.online()
        rig.submit(1, priority: .considerate)
        await rig.answered(1)
        #expect(kinds(rig, 1) == ["accepted", "deferred", "stored"])
        rig.switchboard.switchboard.tick()
        rig.clock.advance(by: DeliveryLimits().burstInterval)
        rig.switchboard.switchboard.tick()
        _ = await stream.attempts.first(2)
        rig.acknowledge(1, on: stream)
        #expect(kinds(rig, 1) == ["accepted", "deferred", "stored", "sent", "acknowledged"])
    }

    @Test
    func `Of three held ones with one collapse identifier, two are coalesced and only the last is sent`() async throws {
        let rig = try await DeliveryRig(storeHasLog: true)
        let stream = await rig.online()
        for number in 1...3 as ClosedRange<UInt64> {
            rig.submit(number, priority: .considerate, collapseID: "score")
            await rig.answered(number)
        }
        rig.switchboard.switchboard.tick()
        rig.clock.advance(by: DeliveryLimits().burstInterval)
        rig.switchboard.switchboard.tick()
        _ = await stream.attempts.first(2)
        rig.acknowledge(3, on: stream)
        #expect(stream.numbers == [1000, 3])
        for number in 1...2 as ClosedRange<UInt64> {
            #expect(kinds(rig, number).prefix(3) == ["accepted", "deferred", "stored"])
            let newer = NotificationID(high: 0, low: number + 1)
            #expect(rig.log.steps(of: number).dropFirst(3) == [.coalesced(into: newer)])
        }
        #expect(kinds(rig, 3) == ["accepted", "deferred", "stored", "sent", "acknowledged"])
    }

    @Test
    func `A silent notification beyond the rate is recorded as throttled`() async throws {
        let rig = try await DeliveryRig()
        let stream = await rig.online()
        rig.switchboard.changePower(of: Example.device, to: .awake)
        for number in 1...4 as ClosedRange<UInt64> { rig.submit(number, priority: .considerate, isSilent: true) }
        await rig.answered(4)
        #expect(kinds(rig, 3) == ["accepted", "sent"])
        #expect(kinds(rig, 4) == ["accepted", "stored", "throttled"])
        #expect(stream.numbers == [1000, 1, 2, 3])
    }

    @Test
    func `A notification that expired in its mailbox is recorded when the device connects`() async throws {
        let rig = try await DeliveryRig()
        rig.submit(1, .at(Example.moment.seconds + 10))
        await rig.answered(1)
        rig.clock.advance(by: .seconds(11))
        _ = rig.attach()
        _ = await rig.store.removals.first(1)
        #expect(kinds(rig, 1) == ["accepted", "stored", "expired"])
    }

    @Test
    func `A second notification with the same identifier is a duplicate; one for another app is not`() async throws {
        let rig = try await DeliveryRig()
        let stream = await rig.online()
        rig.submit(1)
        rig.submit(1)
        _ = await stream.attempts.first(3)
        rig.acknowledge(1, on: stream)
        await rig.answered(1)
        #expect(kinds(rig, 1).filter { $0 == "duplicate" }.count == 1)
        #expect(kinds(rig, 1).filter { $0 == "sent" }.count == 2)
        #expect(kinds(rig, 1).prefix(5) == ["accepted", "sent", "accepted", "sent", "duplicate"])
    }

    @Test
    func `Sixteen identifiers are remembered for each app`() {
        var sent = SentIdentifiers()
        func insert(_ number: UInt64, app: UInt32 = 1) -> Bool {
            sent.insert(NotificationID(high: 0, low: number), of: AppID(rawValue: app))
        }
        for number in 1...16 as ClosedRange<UInt64> { #expect(!insert(number)) }
        #expect(insert(1) && insert(16))
        #expect(!insert(1, app: 2))
        // The new identifier has replaced the oldest one.
        #expect(!insert(1) && insert(3))
    }

    // MARK: Promises about power

    @Test
    func `A held notification is on disk before its 200, and a newer one for the app replaces it`() async throws {
        let rig = try await DeliveryRig(holding: [.storeAnswer])
        let stream = await rig.online()
        rig.submit(1, priority: .considerate)
        await rig.store.arrival(.storeAnswer)
        #expect(rig.answers.accepted.contains(1) == false)
        rig.store.open()
        await rig.answered(1)
        #expect(try await rig.mailboxes() == [1])
        rig.submit(2, priority: .considerate)
        await rig.answered(2)
        #expect(try await rig.mailboxes() == [2])
        #expect(stream.numbers == [1000])
    }

    @Test
    func `A notification of priority 10 is sent after those held for the same app, in order`() async throws {
        let rig = try await DeliveryRig()
        let stream = await rig.online()
        rig.submit(1, priority: .considerate)
        await rig.answered(1)
        rig.submit(2)
        _ = await stream.attempts.first(3)
        #expect(stream.numbers == [1000, 1, 2])
    }

    @Test
    func `Setting the clock back delays no answer`() async throws {
        let rig = try await DeliveryRig()
        _ = await rig.online()
        rig.submit(1)
        rig.clock.setBack(by: .seconds(3600))
        rig.clock.advance(by: DeliveryLimits().acknowledgementGrace)
        let running = Task { await rig.delivery.run() }
        rig.submit(2, app: 2, .unspecified)  // This makes it check its deadlines.
        await rig.answered(1)
        running.cancel()
        #expect(rig.answers.accepted.contains(1))
    }

    // MARK: Back-pressure

    @Test
    func `If too much waits for the disk, the answer is ServiceUnavailable, until the disk works again`() async throws {
        var limits = DeliveryLimits()
        limits.pendingStoresPerShard = 2
        let rig = try await DeliveryRig(holding: [.store], limits: limits)
        rig.submit(1, app: 1)
        await rig.store.arrival(.store)
        // One is being written. Each of these waits, up to the limit.
        rig.submit(2, app: 2)
        rig.submit(3, app: 3)
        rig.submit(4, app: 1)
        #expect(rig.answers.reason(of: 4) == .serviceUnavailable)
        #expect(rig.delivery.pendingStores == 3)
        rig.store.open()
        for ticket in 1...3 as ClosedRange<UInt64> { await rig.answered(ticket) }
        rig.submit(5, app: 1)
        await rig.answered(5)
        #expect(rig.answers.accepted.sorted() == [1, 2, 3, 5])
        #expect(rig.delivery.pendingStores == 0)
    }
}
