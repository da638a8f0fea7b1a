import CommonTesting
import Delivery
import Notifications
import Storage
import Synchronization
import Testing

@testable import SQLiteStore
import SQLiteSupport

/// What the store records in the delivery log, beyond what the contract checks.
@Suite("The store and the delivery log")
struct MailboxJournalTests {
    private final class RecordingLog: DeliveryLog {
        private let all = Mutex<[DeliveryEvent]>([])
        var events: [DeliveryEvent] { all.withLock { $0 } }
        func record(_ event: DeliveryEvent) { all.withLock { $0.append(event) } }
    }

    @Test
    func `Changes that were rolled back are not recorded`() async throws {
        let log = RecordingLog()
        try await withStore(log: log) { store, _ in
            _ = await store.store([Example.entry()])
            try await store.limitGrowth(toPages: 4)
            let large = (1...50 as ClosedRange<UInt32>).map {
                Example.entry(Example.destination(app: $0), id: 2, bytes: 4000)
            }
            for result in await store.store(large) { #expect(throws: StoreError.self) { try result.get() } }
            #expect(log.events.isEmpty)
        }
    }
}
