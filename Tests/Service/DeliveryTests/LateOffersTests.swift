import CommonTesting
@testable import Delivery
import Notifications
import SQLiteStore
import Storage
import Synchronization
import Testing

/// When a node refuses offers that other nodes have made before, and that a slow connection brings later.
@Suite("Offers that come too late", .timeLimit(.minutes(1)))
struct LateOffersTests {
    private let store: HeldStore
    private let clock = SettableClock()
    private let holds = TestHolds()
    private let routes = RecordingRoutes()
    private let log = RecordingLog()
    private let local: LocalSwitchboard
    private let shared: SharedSwitchboard
    private let elsewhere = Destination(
        environment: .production, device: DeviceID(rawValue: 99), app: AppID(rawValue: 1))

    init() async throws {
        let (clock, fence) = (self.clock, HoldFence(holds))
        store = try HeldStore()
        _ = try await store.memory.register(Example.destination(), tokenKeyID: 1, at: Example.moment)
        local = LocalSwitchboard(mailboxes: store, log: log, fence: fence, clock: { clock.now })
        shared = SharedSwitchboard(local, holds, fence, store, pollInterval: .milliseconds(1))
        shared.use(routes)
    }

    private func attached(_ body: () async throws -> Void) async throws {
        let running = Task { await shared.run() }
        let stream = RecordingStream()
        shared.attach(stream, of: Example.device)
        try await wait(while: !local.isAttached(Example.device))
        try await body()
        running.cancel()
        await running.value
    }

    private func announce(_ announcements: Result<[Announcement], StoreError>...) {
        holds.state.withLock { $0.announcements += announcements }
    }

    @Test
    func `What the store announces is newer than the offers that are still on their way`() async throws {
        try await attached {
            announce(.success([.changed(elsewhere), .changed(Example.destination()), .ended(elsewhere)]))
            #expect(
                await routes.refusals.first(1) == [
                    RecordingRoutes.Refusal(destinations: [Example.destination()], isEnded: false)
                ])
            announce(.success([.ended(Example.destination())]))
            #expect(
                await routes.refusals.first(2).last
                    == RecordingRoutes.Refusal(destinations: [Example.destination()], isEnded: true))
        }
    }

    @Test
    func `If announcements may have been lost, no offer on its way is trusted`() async throws {
        try await attached {
            announce(.failure(StoreError(.unknown, "A test wants it so.")))
            #expect(await routes.refusals.first(1) == [RecordingRoutes.Refusal(destinations: nil, isEnded: false)])
        }
    }

    @Test
    func `An offer on its way is not for an app that was removed at this node`() async throws {
        try await attached {
            shared.removed(elsewhere)
            shared.removed(Example.destination())
            #expect(
                routes.refusals.values == [
                    RecordingRoutes.Refusal(destinations: [Example.destination()], isEnded: true)
                ])
        }
    }

    @Test
    func `What a line finds in its mailboxes is newer than the offers that are still on their way`() async throws {
        _ = await store.memory.store([Example.stored(1, version: 0).entry])
        try await attached {
            #expect(
                await routes.refusals.first(1) == [
                    RecordingRoutes.Refusal(destinations: [Example.destination()], isEnded: false)
                ])
            // A later reading may find what is not announced yet.
            local.readMailboxesAgain()
            #expect(await routes.refusals.first(2).count == 2)
        }
    }

    @Test
    func `A notification with a single attempt that comes too late is logged as discarded`() async throws {
        try await attached {
            for number in 1...2 as ClosedRange<UInt64> {
                let once = Offer(
                    id: nil, destination: Example.destination(), notification: Example.notification(number))
                if number == 1 { shared.refused(once) } else { #expect(shared.offered(once, epoch: 99) == .elsewhere) }
                #expect(log.steps(of: number) == [.discarded(.oneAttempt)])
            }
            // Its node stores any other one.
            shared.refused(Example.offer(3))
            #expect(log.steps(of: 3).isEmpty)
        }
    }
}

/// Ways to other nodes that only record which offers this node refuses.
private final class RecordingRoutes: PeerRoutes {
    struct Refusal: Sendable, Equatable {
        let destinations: [Destination]?
        let isEnded: Bool
    }

    let refusals = Recorder<Refusal>()
    let origin = OfferOrigin(rawValue: 7)

    func refuseEarlier(for destinations: [Destination]?, isEnded: Bool) {
        refusals.record(Refusal(destinations: destinations, isEnded: isEnded))
    }

    func offer(_ offer: Offer, epoch: UInt64, to node: NodeID) -> Bool { false }
    func stored(_ entry: StoredMailboxEntry, offer: OfferID?, epoch: UInt64, to node: NodeID) {}
    func report(_ outcome: PeerOutcome, of offer: OfferID) {}
    func broadcast(_ broadcast: PeerBroadcast) {}
}
