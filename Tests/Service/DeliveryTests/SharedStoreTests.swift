import Delivery
import DeliveryTesting
import Notifications
import SQLiteStore
import Storage
import Synchronization
import Testing

/// What `Delivery` does if other nodes use the same store, and if others hold its rows.
@Suite("Delivery with a store that others use", .timeLimit(.minutes(1)))
struct SharedStoreTests {
    /// Another node has changed the registration a moment ago: this node knows an older token, an ended registration or none.
    @Test(
        arguments: [
            .neverRegistered,
            .registered(
                Registration(
                    generation: 1, tokenKeyID: 1, tokenSince: Example.moment, isActive: false, changed: Example.moment)),
        ] as [KnownRegistration])
    func `If other nodes use the store, it is asked before a device token is rejected`(
        _ outdated: KnownRegistration
    ) async throws {
        let registrations = try RegistrationsElsewhere(knowing: [Example.destination(app: 1)], outdated: outdated)
        let rig = try await DeliveryRig(registrations: registrations, isShared: true)
        _ = try await registrations.memory.register(Example.destination(app: 1), tokenKeyID: 1, at: Example.moment)
        rig.submit(1)
        await rig.answered(1)
        #expect(rig.answers.accepted == [1])
        // What the store does not know either is rejected.
        rig.submit(2, generation: 2)
        await rig.answered(2)
        #expect(rig.answers.reason(of: 2) == .badDeviceToken)
    }

    @Test
    func `A node that was stopped accepts nothing before its lease is renewed`() async throws {
        let rig = try await DeliveryRig(isShared: true)
        rig.store.stopped.withLock { $0 = true }
        rig.submit(1)
        #expect(rig.answers.reason(of: 1) == .serviceUnavailable)
        rig.store.stopped.withLock { $0 = false }
        rig.submit(2)
        await rig.answered(2)
        #expect(rig.answers.accepted == [2])
    }

    @Test
    func `What comes to a node that was stopped is not rejected before earlier ones have their answers`() async throws {
        let registrations = try RegistrationsElsewhere(isHeld: true)
        let rig = try await DeliveryRig(registrations: registrations, isShared: true)
        _ = try await registrations.memory.register(Example.destination(app: 1), tokenKeyID: 1, at: Example.moment)
        rig.submit(1)
        rig.store.stopped.withLock { $0 = true }
        rig.submit(2)
        #expect(rig.answers.reason(of: 2) == nil)
        rig.store.stopped.withLock { $0 = false }
        registrations.release()
        for ticket in [1, 2] as [UInt64] { await rig.answered(ticket) }
        #expect(rig.answers.accepted == [1])
        #expect(rig.answers.reason(of: 2) == .serviceUnavailable)
    }

    @Test
    func `If a node was stopped during a look-up, the notification is not accepted`() async throws {
        let registrations = try RegistrationsElsewhere(isHeld: true)
        let rig = try await DeliveryRig(registrations: registrations, isShared: true)
        _ = try await registrations.memory.register(Example.destination(app: 1), tokenKeyID: 1, at: Example.moment)
        rig.submit(1)
        // The clock of the machine may have stood still meanwhile.
        rig.store.stopped.withLock { $0 = true }
        registrations.release()
        await rig.answered(1)
        #expect(rig.answers.reason(of: 1) == .serviceUnavailable)
    }

    /// The process may have been stopped during the look-up. If nobody else uses the store, nothing newer can be elsewhere.
    @Test(arguments: [false, true])
    func `If a look-up takes longer than providers wait, the notification is not accepted`(isShared: Bool) async throws
    {
        let registrations = try RegistrationsElsewhere(isHeld: true)
        let rig = try await DeliveryRig(registrations: registrations, isShared: isShared)
        _ = try await registrations.memory.register(Example.destination(app: 1), tokenKeyID: 1, at: Example.moment)
        rig.submit(1)
        rig.clock.advance(by: .seconds(3))
        registrations.release()
        await rig.answered(1)
        #expect(rig.answers.reason(of: 1) == (isShared ? .serviceUnavailable : nil))
        #expect(rig.answers.accepted == (isShared ? [] : [1]))
    }

    @Test(arguments: [false, true])
    func `What is stored again in a store that others use has an age`(isShared: Bool) async throws {
        let rig = try await DeliveryRig(isShared: isShared)
        rig.store.fail(.store, .unknown)
        rig.submit(1)
        await rig.answered(1)
        #expect(rig.answers.accepted == [1])
        #expect(rig.store.ages.values == [[nil], [isShared ? .zero : nil]])
        // The first attempt may have stored it at any time.
        #expect(rig.store.waits.values == [[isShared ? .zero : nil], [nil]])
    }

    /// While the device token was looked up, the provider may have sent a newer notification through another node.
    @Test(arguments: [false, true])
    func `What is stored has waited since its request was read`(isShared: Bool) async throws {
        let registrations = try RegistrationsElsewhere(isHeld: true)
        let rig = try await DeliveryRig(registrations: registrations, isShared: isShared)
        _ = try await registrations.memory.register(Example.destination(app: 1), tokenKeyID: 1, at: Example.moment)
        rig.submit(1)
        rig.clock.advance(by: .seconds(1))
        registrations.release()
        await rig.answered(1)
        #expect(rig.answers.accepted == [1])
        #expect(rig.store.waits.values == [[isShared ? .seconds(1) : nil]])
    }

    @Test
    func `If another node has stored something newer meanwhile, the answer is ServiceUnavailable`() async throws {
        let rig = try await DeliveryRig(isShared: true)
        rig.store.fail(.store, .unknown)
        rig.store.fail(.store, .conflict)
        rig.submit(1)
        await rig.answered(1)
        #expect(rig.answers.reason(of: 1) == .serviceUnavailable)
        #expect(rig.store.batches.values.count == 2)
    }

    @Test
    func `A notification whose mailbox is locked is stored when it is free`() async throws {
        let rig = try await DeliveryRig()
        for _ in 0..<3 { rig.store.fail(.store, .locked) }
        rig.submit(1)
        await rig.answered(1)
        #expect(rig.answers.accepted == [1])
        #expect(rig.store.batches.values == [[1], [1], [1], [1]])
    }
}
