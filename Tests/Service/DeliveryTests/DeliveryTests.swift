import Delivery
import Foundation
import Notifications
import SQLiteStore
import Storage
import Testing

/// The whole way from a submission to its answer. Everything is real except the disk.
@Suite("Delivery", .timeLimit(.minutes(1)))
struct DeliveryTests {
    // MARK: Online

    @Test
    func `A notification that a connected device acknowledges is accepted, and never stored`() async throws {
        let rig = try await DeliveryRig()
        let stream = await rig.online()
        rig.submit(1)
        #expect(stream.numbers == [1000, 1])
        #expect(rig.answers.accepted == [1000])
        rig.acknowledge(1, on: stream)
        #expect(rig.answers.accepted == [1000, 1])
        #expect(rig.store.batches.values.isEmpty)
    }

    @Test
    func `A notification that is not acknowledged in time is stored and accepted, and removed when it is acknowledged`()
        async throws
    {
        try await whileRunning { rig, stream async throws in
            rig.submit(1)
            rig.clock.advance(by: .milliseconds(1))
            await rig.answered(1)
            #expect(try await rig.mailboxes() == [1])
            rig.acknowledge(1, on: stream)
            _ = await rig.store.removals.first(1)
            #expect(try await rig.mailboxes() == [])
            #expect(stream.numbers == [1000, 1])
        }
    }

    @Test
    func `A notification that comes after all others were acknowledged has a deadline too`() async throws {
        try await whileRunning { rig, stream async throws in
            rig.submit(1)
            rig.acknowledge(1, on: stream)
            await rig.answered(1)
            rig.submit(2)
            rig.clock.advance(by: .milliseconds(1))
            await rig.answered(2)
            #expect(try await rig.mailboxes() == [2])
        }
    }

    /// Runs `body` with a connected device, which has a millisecond to acknowledge.
    private func whileRunning(_ body: (DeliveryRig, RecordingStream) async throws -> Void) async throws {
        var limits = DeliveryLimits()
        limits.acknowledgementGrace = .milliseconds(1)
        let rig = try await DeliveryRig(limits: limits)
        let stream = await rig.online()
        let running = Task { await rig.delivery.run() }
        try await body(rig, stream)
        running.cancel()
        await running.value
    }

    @Test
    func `Several submissions are accepted in their order`() async throws {
        let rig = try await DeliveryRig()
        let stream = await rig.online()
        let submissions = (1...5 as ClosedRange<UInt64>).map { number in
            Example.submission(number, to: Example.destination(app: UInt32(number % 2 + 1)))
        }
        rig.delivery.submit(submissions, answers: rig.answers)
        #expect(stream.numbers == [1000, 1, 2, 3, 4, 5])
    }

    // MARK: Offline

    @Test
    func `A notification for a disconnected device is stored, then accepted, and delivered later`() async throws {
        let rig = try await DeliveryRig(holding: [.store])
        rig.submit(1)
        await rig.store.arrival(.store)
        #expect(rig.answers.accepted.isEmpty)
        rig.store.open()
        await rig.answered(1)
        #expect(try await rig.mailboxes() == [1])
        let stream = rig.attach()
        _ = await stream.attempts.first(1)
        rig.acknowledge(1, on: stream)
        _ = await rig.store.removals.first(1)
        #expect(try await rig.mailboxes() == [])
    }

    @Test
    func `For a disconnected device the newest notification of each app waits`() async throws {
        let rig = try await DeliveryRig()
        for (number, app) in [(1, 1), (2, 2), (3, 1), (4, 1)] as [(UInt64, UInt32)] {
            rig.submit(number, app: app)
            await rig.answered(number)
        }
        #expect(rig.answers.accepted == [1, 2, 3, 4])
        #expect(try await rig.mailboxes() == [2, 4])
        let stream = rig.attach()
        #expect(Set(await stream.attempts.first(2).map(\.notification.number)) == [2, 4])
    }

    @Test
    func `Notifications on a stream that is replaced are stored and sent on the new one`() async throws {
        let rig = try await DeliveryRig()
        let first = await rig.online()
        rig.submit(1)
        let second = rig.attach()
        await rig.answered(1)
        await second.attempts.wait { $0.contains { $0.notification.number == 1 } }
        rig.acknowledge(1, on: second)
        _ = await rig.store.removals.first(1)
        #expect(try await rig.mailboxes() == [])
        #expect(first.ends.values == [.takenOver])
        #expect(second.numbers == [1])
    }

    // MARK: Expiration

    private static let passed: [Expiration] = [.immediately, .at(1), .at(Example.moment.seconds)]

    @Test(arguments: passed)
    func `A notification that expires at once gets one attempt and is never stored`(
        _ expiration: Expiration
    ) async throws {
        let rig = try await DeliveryRig()
        rig.submit(1, expiration)
        #expect(rig.answers.accepted == [1])
        let stream = await rig.online()
        rig.submit(2, expiration)
        #expect(rig.answers.accepted == [1, 1000, 2])
        #expect(stream.numbers == [1000, 2])
        rig.switchboard.detach(stream, of: Example.device)
        await rig.delivery.drain()
        #expect(rig.store.batches.values.isEmpty)
    }

    @Test
    func `A notification that expires before the device connects is not delivered`() async throws {
        let rig = try await DeliveryRig()
        rig.submit(1, .at(Example.moment.seconds + 1))
        await rig.answered(1)
        rig.clock.advance(by: .seconds(1))
        let stream = await rig.online()
        _ = await rig.store.removals.first(1)
        #expect(stream.numbers == [1000])
    }

    @Test
    func `A notification that expires while the disk is slow is not delivered either`() async throws {
        let rig = try await DeliveryRig(holding: [.storeAnswer])
        rig.submit(1, .at(Example.moment.seconds + 1))
        await rig.store.arrival(.storeAnswer)
        let stream = RecordingStream()
        rig.clock.advance(by: .seconds(1))
        rig.switchboard.attach(stream, of: Example.device)
        rig.submit(1000, app: 3, .immediately)
        _ = await stream.attempts.first(1)
        rig.store.open()
        _ = await rig.switchboard.announced.first(1)
        #expect(stream.numbers == [1000])
    }

    @Test
    func `Expired notifications are removed from the store`() async throws {
        let rig = try await DeliveryRig()
        rig.submit(1, .at(Example.moment.seconds + 1))
        await rig.answered(1)
        rig.clock.advance(by: .seconds(2))
        let running = Task { await rig.delivery.run() }
        await rig.store.sweeps.wait { $0.contains { $0 > 0 } }
        #expect(try await rig.mailboxes() == [])
        running.cancel()
        await running.value
    }

    // MARK: Registrations

    @Test
    func `Without a registration the answer is BadDeviceToken`() async throws {
        let rig = try await DeliveryRig()
        rig.submit(1, app: 9)
        #expect(rig.answers.reason(of: 1) == .badDeviceToken)
    }

    @Test
    func `A device token of an older generation, or of a removed app, gets Unregistered`() async throws {
        let rig = try await DeliveryRig()
        rig.submit(1, generation: 0)
        #expect(rig.answers.reason(of: 1) == .unregistered)
        rig.submit(2, generation: 2)
        #expect(rig.answers.reason(of: 2) == .badDeviceToken)
        _ = try await rig.store.memory.end(Example.destination(), at: Example.moment)
        rig.submit(3)
        #expect(rig.answers.reason(of: 3) == .unregistered)
        #expect(rig.store.batches.values.isEmpty)
    }

    @Test(arguments: [1, 9] as [UInt32])
    func `An unknown registration is looked up`(app: UInt32) async throws {
        let registrations = try RegistrationsElsewhere()
        let rig = try await DeliveryRig(registrations: registrations)
        _ = try await registrations.memory.register(Example.destination(app: 1), tokenKeyID: 1, at: Example.moment)
        rig.submit(1, app: app)
        await rig.answered(1)
        #expect(rig.answers.accepted == (app == 1 ? [1] : []))
        #expect(rig.answers.reason(of: 1) == (app == 1 ? nil : .badDeviceToken))
    }

    @Test
    func `During a look-up, later submissions of the connection wait, whether their registrations are known or not`()
        async throws
    {
        let registrations = try RegistrationsElsewhere(isHeld: true, knowing: [Example.destination(app: 2)])
        let rig = try await DeliveryRig(registrations: registrations)
        for app in 1...2 as ClosedRange<UInt32> {
            _ = try await registrations.memory.register(
                Example.destination(app: app), tokenKeyID: 1, at: Example.moment)
        }
        for (number, app) in zip(1...4 as ClosedRange<UInt64>, [1, 2, 1, 2] as [UInt32]) {
            rig.submit(number, app: app)
        }
        // Submissions of other connections do not wait.
        let others = RecordingAnswers()
        rig.delivery.submit([Example.submission(5, to: Example.destination(app: 2))], answers: others)
        registrations.release()
        await rig.answered(4)
        #expect(rig.log.events.values.filter { $0.step == .accepted }.map(\.subject.id.low) == [5, 1, 2, 3, 4])
        // After it has caught up, the connection does not wait any more.
        rig.submit(6, app: 2)
        #expect(rig.log.steps(of: 6).first == .accepted)
    }

    @Test
    func `After a rejection that ends a connection, nothing that waits behind it is accepted`() async throws {
        let registrations = try RegistrationsElsewhere(isHeld: true, knowing: [Example.destination(app: 2)])
        let rig = try await DeliveryRig(registrations: registrations)
        _ = try await registrations.memory.register(Example.destination(app: 2), tokenKeyID: 1, at: Example.moment)
        let answers = FaultyConnection()
        for (number, app) in zip(1...3 as ClosedRange<UInt64>, [1, 2, 2] as [UInt32]) {
            rig.delivery.submit([Example.submission(number, to: Example.destination(app: app))], answers: answers)
        }
        registrations.release()
        await rig.delivery.drain()
        #expect(answers.answers.values == [1])
    }

    @Test
    func `If a registration cannot be looked up, the answer is ServiceUnavailable`() async throws {
        let registrations = try RegistrationsElsewhere(isReachable: false)
        let rig = try await DeliveryRig(registrations: registrations)
        rig.submit(1)
        await rig.answered(1)
        #expect(rig.answers.reason(of: 1) == .serviceUnavailable)
    }

    // MARK: A store that fails

    @Test(arguments: [.unavailable, .conflict] as [StoreError.Code])
    func `If a notification cannot be stored, the answer is ServiceUnavailable`(_ code: StoreError.Code) async throws {
        let rig = try await DeliveryRig()
        rig.store.fail(.store, code)
        rig.submit(1)
        await rig.answered(1)
        #expect(rig.answers.reason(of: 1) == .serviceUnavailable)
        #expect(rig.store.batches.values == [[1]])
    }

    @Test
    func `A store that cannot be read gives InternalServerError`() async throws {
        let rig = try await DeliveryRig()
        rig.store.fail(.store, .unreadable)
        rig.submit(1)
        await rig.answered(1)
        #expect(rig.answers.reason(of: 1) == .internalServerError)
    }

    @Test
    func `A notification that may have been stored is stored again`() async throws {
        let rig = try await DeliveryRig()
        rig.store.fail(.store, .unknown)
        rig.submit(1)
        await rig.answered(1)
        #expect(rig.answers.accepted == [1])
        #expect(rig.store.batches.values == [[1], [1]])
    }

    @Test
    func `An uncertain notification is stored again until the store confirms it`() async throws {
        let rig = try await DeliveryRig()
        rig.store.fail(.store, .unknown)
        rig.store.fail(.store, .unavailable)  // This fails the second attempt. The result of the first is unknown.
        rig.store.fail(.store, .unknown)
        rig.submit(1)
        await rig.answered(1)
        #expect(rig.answers.accepted == [1])
        #expect(rig.store.batches.values == [[1], [1], [1], [1]])
    }

    @Test
    func `A service that shuts down does not wait for an uncertain store`() async throws {
        let rig = try await DeliveryRig()
        for _ in 0..<10_000 { rig.store.fail(.store, .unknown) }
        rig.submit(1)
        await rig.delivery.drain()
        #expect(rig.answers.reason(of: 1) == .serviceUnavailable)
    }

    @Test
    func `Storing again does not replace a newer notification`() async throws {
        let rig = try await DeliveryRig(holding: [.store])
        rig.submit(1, app: 2)
        await rig.store.arrival(.store)
        rig.submit(2)
        rig.submit(3)
        rig.store.pass(.store)
        await rig.store.arrival(.store, 2)
        rig.store.fail(.store, .unknown)  // This fails the first item of the batch.
        rig.store.open()
        for ticket in 1...3 as ClosedRange<UInt64> { await rig.answered(ticket) }
        #expect(rig.answers.accepted.contains(3))
        #expect(try await rig.mailboxes() == [1, 3])
    }

    // MARK: Order

    @Test
    func `A notification does not overtake an older one that is being stored`() async throws {
        let rig = try await DeliveryRig(holding: [.storeAnswer])
        rig.submit(1)
        await rig.store.arrival(.storeAnswer)
        // The store has written the notification but has not answered yet. The device connects, and its reading finds
        // nothing.
        let reference = MailboxReference(
            destination: Example.destination(),
            version: try #require(try await rig.store.memory.entries(of: Example.device).first).version,
        )
        _ = await rig.store.memory.remove([reference])
        let stream = await rig.online()
        rig.submit(2)
        rig.store.open()
        await stream.attempts.wait { attempts in Set(attempts.map(\.notification.number)).isSuperset(of: [1, 2]) }
        #expect(stream.numbers == [1000, 1, 2])
    }

    @Test(arguments: [true, false])
    func `Each submitter's notifications keep their order, even if others submit too`(isOnline: Bool) async throws {
        let rig = try await DeliveryRig()
        let stream = isOnline ? await rig.online() : nil
        await withTaskGroup { group in
            for submitter in 1...4 as ClosedRange<UInt64> {
                group.addTask {
                    for number in 1...50 as ClosedRange<UInt64> { rig.submit(submitter * 10_000 + number) }
                }
            }
        }
        if let stream {
            let numbers = stream.numbers.dropFirst()
            #expect(numbers.count == 200)
            for submitter in 1...4 as ClosedRange<UInt64> {
                let own = numbers.filter { $0 / 10_000 == submitter }
                #expect(own == own.sorted())
            }
            let attempts = stream.attempts.values.map(\.number)
            #expect(attempts == attempts.sorted())
        } else {
            await rig.delivery.drain()
            #expect(rig.answers.accepted.count == 200)
            let held = try #require(try await rig.mailboxes().first)
            #expect(held % 10_000 == 50)
        }
    }

    // MARK: Draining

    @Test
    func `A drain stores unacknowledged notifications`() async throws {
        let rig = try await DeliveryRig()
        _ = await rig.online()
        for number in 1...10 as ClosedRange<UInt64> { rig.submit(number, app: UInt32(number % 2 + 1)) }
        await rig.delivery.drain()
        #expect(Set(rig.answers.accepted) == Set(1...10).union([1000]))
        #expect(try await rig.mailboxes() == [9, 10])
    }

    /// Begins a drain. It runs at once until it has to wait, so one that waits for nothing has ended when this returns.
    private func drain(_ rig: DeliveryRig, _ drained: Recorder<Void>, isCancelled: Bool = false) -> Task<Void, Never> {
        Task.immediate {
            if isCancelled { withUnsafeCurrentTask { $0?.cancel() } }
            await rig.delivery.drain()
            drained.record(())
        }
    }

    @Test
    func `After a drain everything was answered`() async throws {
        let rig = try await DeliveryRig()
        let stream = await rig.online()
        let answers = SlowAnswers()
        rig.delivery.submit([Example.submission(1)], answers: answers)
        // Acknowledge on a separate thread, which is blocked while it gives the answer.
        Thread.detachNewThread { rig.acknowledge(1, on: stream) }
        _ = await answers.arrivals.first(1)
        let drained = Recorder<Void>()
        let draining = drain(rig, drained)
        #expect(drained.values.isEmpty)
        answers.release()
        await draining.value
    }

    @Test
    func `A drain waits for registrations that are being looked up`() async throws {
        let registrations = try RegistrationsElsewhere(isHeld: true)
        let rig = try await DeliveryRig(registrations: registrations)
        _ = try await registrations.memory.register(Example.destination(), tokenKeyID: 1, at: Example.moment)
        rig.submit(1)
        let drained = Recorder<Void>()
        let draining = drain(rig, drained)
        #expect(drained.values.isEmpty)
        registrations.release()
        await draining.value
        #expect(rig.answers.accepted == [1])
    }

    @Test
    func `A cancelled drain still waits for the store`() async throws {
        let rig = try await DeliveryRig(holding: [.store])
        rig.submit(1)
        await rig.store.arrival(.store)
        let drained = Recorder<Void>()
        let draining = drain(rig, drained, isCancelled: true)
        #expect(drained.values.isEmpty)
        rig.store.open()
        await draining.value
        #expect(rig.answers.accepted == [1])
    }

    @Test
    func `A drain with nothing to do returns`() async throws {
        try await DeliveryRig().delivery.drain()
    }

    @Test
    func `A drain waits for a slow store, and for failures`() async throws {
        let rig = try await DeliveryRig(holding: [.store])
        rig.submit(1)
        rig.submit(2, app: 2)
        await rig.store.arrival(.store)
        rig.store.fail(.store, .unavailable)
        let drained = Recorder<Void>()
        let draining = drain(rig, drained)
        #expect(drained.values.isEmpty)
        rig.store.open()
        await draining.value
        #expect(rig.answers.reason(of: 1) == .serviceUnavailable)
        #expect(rig.answers.accepted == [2])
    }
}
