import CommonTesting
import Delivery
import Notifications
import Synchronization
import Testing

@testable import SQLiteStore

/// What the store tells the delivery log: what leaves its mailboxes otherwise than by a removal.
@Suite("The store and the delivery log")
struct MailboxJournalTests {
    private final class RecordingLog: DeliveryLog {
        private let all = Mutex<[DeliveryEvent]>([])
        var events: [DeliveryEvent] { all.withLock { $0 } }
        func record(_ event: DeliveryEvent) { all.withLock { $0.append(event) } }
    }

    private func withStore(_ body: (SQLiteStore, RecordingLog) async throws -> Void) async throws {
        try await withTemporaryPath { path in
            let log = RecordingLog()
            let store = try await SQLiteStore.open(folder: path, log: log, clock: { Example.moment })
            do {
                try await body(store, log)
            } catch {
                await store.close()
                throw error
            }
            await store.close()
        }
    }

    private func event(_ id: UInt64, _ step: DeliveryStep, app: UInt32 = 1) -> DeliveryEvent {
        DeliveryEvent(
            time: Example.moment,
            step: step,
            subject: NotificationSubject(
                Example.entry(id: id).notification, to: Example.destination(app: app)),
        )
    }

    private func entry(_ id: UInt64, collapseID: String? = nil) -> MailboxEntry {
        var entry = Example.entry(id: id)
        entry.notification.fields.collapseID = collapseID.flatMap(CollapseIdentifier.init(rawValue:))
        return entry
    }

    @Test("What is replaced names what took its place, also within a batch")
    func replaced() async throws {
        try await withStore { store, log in
            _ = await store.store([entry(1)])
            _ = await store.store([entry(2), entry(3)])
            #expect(
                log.events == [
                    event(1, .replaced(by: NotificationID(high: 2, low: 2))),
                    event(2, .replaced(by: NotificationID(high: 3, low: 3))),
                ])
        }
    }

    @Test("What is replaced by one with the same collapse identifier is coalesced into it")
    func coalesced() async throws {
        try await withStore { store, log in
            _ = await store.store([entry(1, collapseID: "a")])
            _ = await store.store([entry(2, collapseID: "a")])
            _ = await store.store([entry(3, collapseID: "b")])
            #expect(
                log.events.map(\.step) == [
                    .coalesced(into: NotificationID(high: 2, low: 2)),
                    .replaced(by: NotificationID(high: 3, low: 3)),
                ])
        }
    }

    @Test("Storing the same again replaces nothing")
    func storedAgain() async throws {
        try await withStore { store, log in
            for _ in 0..<2 { _ = await store.store([entry(1)]) }
            #expect(log.events.isEmpty)
        }
    }

    @Test("What was not committed is not told")
    func notCommitted() async throws {
        try await withStore { store, log in
            _ = await store.store([entry(1)])
            try await store.limitGrowth(toPages: 4)
            let large = (1...50 as ClosedRange<UInt32>).map {
                Example.entry(Example.destination(app: $0), id: 2, bytes: 4000)
            }
            for result in await store.store(large) { #expect(throws: StoreError.self) { try result.get() } }
            #expect(log.events.isEmpty)
        }
    }

    @Test("What has expired is told when it is swept out")
    func expired() async throws {
        try await withStore { store, log in
            _ = await store.store([entry(1)])
            let swept = try await store.removeExpired(before: Example.moment.advanced(by: .seconds(1)), limit: 10)
            #expect(swept == 1)
            #expect(log.events == [event(1, .expired)])
        }
    }

    @Test("What was stored for an app that is removed, or for a device with new tokens, is discarded")
    func discarded() async throws {
        try await withStore { store, log in
            let destination = Example.destination()
            _ = try await store.register(destination, tokenKeyID: 1, at: Example.moment)
            _ = await store.store([entry(1)])
            _ = try await store.end(destination, at: Example.moment)
            _ = await store.store([entry(2)])
            try await store.renewTokens(of: destination.deviceKey, tokenKeyID: 1, at: Example.moment)
            #expect(
                log.events == [event(1, .discarded(.unregistered)), event(2, .discarded(.unregistered))])
        }
    }

    @Test("What is removed because it was delivered is not told")
    func removed() async throws {
        try await withStore { store, log in
            let version = try #require(await store.store([entry(1)]).first).get()
            _ = await store.remove([MailboxReference(destination: Example.destination(), version: version)])
            #expect(log.events.isEmpty)
        }
    }
}
