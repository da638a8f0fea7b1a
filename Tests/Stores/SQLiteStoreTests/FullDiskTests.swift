import Delivery
import GRDB
import Notifications
import Storage
import Testing

@testable import SQLiteStore
import SQLiteSupport

@Suite("A full disk")
struct FullDiskTests {
    private static let large = (1...50 as ClosedRange<UInt32>).map {
        Example.entry(Example.destination(app: $0), bytes: 4000)
    }

    @Test
    func `A write without room is unavailable and leaves nothing behind`() async throws {
        try await withStore { store, _ in
            try await store.limitGrowth(toPages: 4)
            let results = await store.store(Self.large)
            #expect(results.count == Self.large.count)
            for result in results {
                #expect(
                    throws: StoreError(.unavailable, "The disk is full: free some space, then storing works again.")
                ) {
                    try result.get()
                }
            }
            #expect(try await store.entries(of: Example.destination().deviceKey).isEmpty)
        }
    }

    @Test
    func `When there is room again storing works, with new versions`() async throws {
        try await withStore { store, _ in
            let before = try #require(await store.store([Example.entry()]).first).get()
            try await store.limitGrowth(toPages: 4)
            _ = await store.store(Self.large)
            try await store.limitGrowth(toPages: 10_000)
            let versions = try await store.store(Self.large).map { try $0.get() }
            #expect(Set(versions).union([before]).count == Self.large.count + 1)
        }
    }

    @Test
    func `A removal, which needs no room, does not fail because of writes in its batch that do`() async throws {
        try await withStore { store, _ in
            let stored = Example.entry(Example.destination(2))
            let version = try #require(await store.store([stored]).first).get()
            try await store.limitGrowth(toPages: 4)
            let release = await store.holdWriter()
            async let refused = store.store(Self.large)
            try await store.waitForPending(50)
            let reference = MailboxReference(destination: stored.destination, version: version)
            async let removed = store.remove([reference])
            try await store.waitForPending(51)
            release()
            let (refusals, removals) = (await refused, await removed)
            #expect(refusals.allSatisfy { (try? $0.get()) == nil })
            #expect(removals == [.success(.removed)])
        }
    }

    @Test
    func `A registration that could not be written is not in memory`() async throws {
        try await withStore(registered: []) { store, _ in
            try await store.limitGrowth(toPages: 1)
            var refused = 0
            for device in 1...500 as ClosedRange<UInt64> {
                let destination = Example.destination(device)
                do throws(StoreError) {
                    _ = try await store.register(destination, tokenKeyID: 1, at: Example.moment)
                } catch {
                    #expect(error.code == .unavailable)
                    #expect(store.knownRegistration(of: destination) == .neverRegistered)
                    refused += 1
                }
            }
            #expect(refused > 0)
            #expect(
                try await store.connections.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM registration") }
                    == store.registrations.count)
        }
    }
}
