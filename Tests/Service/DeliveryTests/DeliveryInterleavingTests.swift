import Delivery
import Notifications
import Testing

/// Tests every order of events that may happen at the same time.
@Suite("Delivery: the store and the device in every order", .timeLimit(.minutes(1)))
struct DeliveryInterleavingTests {
    /// All orders in which the two sequences can be mixed.
    private static func mixes(_ first: [InterleavedEvent], _ second: [InterleavedEvent]) -> [[InterleavedEvent]] {
        guard let one = first.first, let other = second.first else { return [first + second] }
        return mixes(Array(first.dropFirst()), second).map { [one] + $0 }
            + mixes(first, Array(second.dropFirst())).map { [other] + $0 }
    }

    private static let connections = mixes(
        [.submitted, .committed, .storeAnswered], [.attached, .snapshotTaken, .readAnswered])

    @Test(arguments: connections)
    func `A notification that is stored while the device connects is delivered once`(
        _ events: [InterleavedEvent]
    ) async throws {
        let rig = try await DeliveryRig(holding: [.store, .storeAnswer, .read, .readAnswer])
        let stream = RecordingStream()
        // A device that was connected first takes the notification, so nothing is stored.
        let isTaken = events.first == .attached
        for event in events {
            switch event {
            case .submitted:
                rig.submit(1)
                if !isTaken && !attachedBefore(.submitted, events) { await rig.store.arrival(.store) }
            case .committed where !attachedBefore(.submitted, events):
                rig.store.pass(.store)
                await rig.store.arrival(.storeAnswer)
            case .storeAnswered where !attachedBefore(.submitted, events):
                rig.store.pass(.storeAnswer)
                _ = await rig.switchboard.announced.first(1)
            case .attached:
                rig.switchboard.attach(stream, of: Example.device)
                await rig.store.arrival(.read)
            case .snapshotTaken:
                rig.store.pass(.read)
                await rig.store.arrival(.readAnswer)
            case .readAnswered:
                rig.store.pass(.readAnswer)
            default:
                break
            }
        }
        rig.store.open()
        _ = await stream.attempts.first(1)
        rig.acknowledge(1, on: stream)
        await rig.answered(1)
        if !attachedBefore(.submitted, events) { _ = await rig.store.removals.first(1) }
        #expect(rig.answers.accepted == [1])
        #expect(stream.numbers == [1])
        #expect(try await rig.mailboxes() == [])
    }

    private func attachedBefore(_ event: InterleavedEvent, _ events: [InterleavedEvent]) -> Bool {
        guard let attached = events.firstIndex(of: .attached), let other = events.firstIndex(of: event) else {
            return false
        }
        return attached < other
    }

    @Test(arguments: mixes([.committed, .storeAnswered], [.acknowledged]))
    func `A notification that is acknowledged while it is being stored is answered once, and does not stay stored`(
        _ events: [InterleavedEvent]
    ) async throws {
        let rig = try await DeliveryRig(holding: [.store, .storeAnswer])
        let stream = await rig.online()
        rig.submit(1)
        let draining = Task { await rig.delivery.drain() }  // Stores it, as its deadline would.
        await rig.store.arrival(.store)
        for event in events {
            switch event {
            case .committed:
                rig.store.pass(.store)
                await rig.store.arrival(.storeAnswer)
            case .storeAnswered:
                rig.store.pass(.storeAnswer)
                await draining.value
            case .acknowledged:
                rig.acknowledge(1, on: stream)
                await rig.answered(1)
            default: break
            }
        }
        _ = await rig.store.removals.first(1)
        #expect(rig.answers.accepted == [1000, 1])
        #expect(stream.numbers == [1000, 1])
        #expect(try await rig.mailboxes() == [])
    }

    @Test(arguments: mixes([.committed, .storeAnswered], [.detached, .attached]))
    func `A notification on a stream that breaks while it is being stored is sent on the next stream`(
        _ events: [InterleavedEvent]
    ) async throws {
        let rig = try await DeliveryRig(holding: [.store, .storeAnswer])
        let first = await rig.online()
        let second = RecordingStream()
        rig.submit(1)
        let draining = Task { await rig.delivery.drain() }
        await rig.store.arrival(.store)
        for event in events {
            switch event {
            case .committed:
                rig.store.pass(.store)
                await rig.store.arrival(.storeAnswer)
            case .storeAnswered:
                rig.store.pass(.storeAnswer)
                await draining.value
            case .detached: rig.switchboard.detach(first, of: Example.device)
            case .attached: rig.switchboard.attach(second, of: Example.device)
            default: break
            }
        }
        _ = await second.attempts.first(1)
        rig.acknowledge(1, on: second)
        _ = await rig.store.removals.first(1)
        #expect(rig.answers.accepted == [1000, 1])
        #expect(second.numbers == [1])
        #expect(try await rig.mailboxes() == [])
    }

    @Test(arguments: mixes([.committed, .storeAnswered], [.attached, .submitted]))
    func `Of two notifications the newer one is delivered last, or alone`(_ events: [InterleavedEvent]) async throws {
        let rig = try await DeliveryRig(holding: [.store, .storeAnswer])
        let stream = RecordingStream()
        rig.submit(1)
        await rig.store.arrival(.store)
        for event in events {
            switch event {
            case .committed:
                rig.store.pass(.store)
                await rig.store.arrival(.storeAnswer)
            case .storeAnswered:
                rig.store.pass(.storeAnswer)
                await rig.answered(1)
            case .attached: rig.switchboard.attach(stream, of: Example.device)
            case .submitted: rig.submit(2)
            default: break
            }
        }
        rig.store.open()
        await stream.attempts.wait { $0.contains { $0.notification.number == 2 } }
        await rig.delivery.drain()
        #expect(stream.numbers.last == 2)
        #expect(stream.numbers == stream.numbers.sorted())
    }
}

/// An event of a notification or of the device's connection.
enum InterleavedEvent: String, CustomStringConvertible {
    case submitted, committed, storeAnswered
    case attached, snapshotTaken, readAnswered
    case acknowledged, detached

    var description: String { rawValue }
}
