import AccountTables
import Delivery
import Notifications
import SQLiteStore
import Storage
import Testing

/// What the embedded store remembers of handles.
@Suite struct CachedGrantStoreTests {
    private static let moment = Timestamp(milliseconds: 1_700_000_000_000)
    private let grant: GrantID

    init() throws { grant = try #require(GrantID(rawValue: "g_aaaabbbbccccdddd")) }

    private func handle(_ byte: UInt8) throws -> StoredHandle {
        StoredHandle(
            handle: try #require(Handle([UInt8](repeating: byte, count: Handle.byteCount))), grant: grant,
            app: AppID(rawValue: 1), environment: .production, token: [byte], registered: Self.moment)
    }

    private func withStore(_ capacity: Int = 100, _ body: (CachedGrantStore) async throws -> Void) async throws {
        let store = try SQLiteStore.inMemory()
        try await body(CachedGrantStore(store.grantStore, capacity: capacity))
        await store.close()
    }

    @Test func `A handle that was looked up is remembered until it changes`() async throws {
        try await withStore { store in
            let one = try handle(1)
            try await store.put([one], limit: 10)
            #expect(store.remembered(one.handle) == nil)
            func lookUp() async throws {
                _ = try await store.handles([one.handle])
                #expect(store.remembered(one.handle) != nil)
            }
            try await lookUp()
            #expect(store.remembered(one.handle) == one)
            try await store.end(one.handle, HandleEnd(reason: .unregistered, moment: Self.moment))
            #expect(store.remembered(one.handle) == nil)
            try await lookUp()
            #expect(store.remembered(one.handle)?.end != nil)
            try await store.put([one], limit: 10)
            #expect(store.remembered(one.handle) == nil)
            try await lookUp()
            let later = Self.moment.advanced(by: .seconds(200 * 86_400))
            _ = try await store.sweep(HandleSweep(rules: GrantRules(), at: later), after: nil, limit: 10)
            #expect(store.remembered(one.handle) == nil)
            try await lookUp()
            #expect(try await store.remove(one.handle, of: grant))
            #expect(store.remembered(one.handle) == nil)
            #expect(try await store.handles([one.handle]) == [nil])
            #expect(store.remembered(one.handle) == nil, "What does not exist is not remembered.")
        }
    }

    @Test func `No more are remembered than there is room for, and those in use stay`() async throws {
        try await withStore(10) { store in
            let handles = try (1...40).map { try handle($0) }
            try await store.put(handles, limit: 100)
            for stored in handles {
                _ = try await store.handles([stored.handle])
                _ = store.remembered(handles[0].handle)
            }
            #expect(handles.filter { store.remembered($0.handle) != nil }.count <= 10)
            #expect(store.remembered(handles[0].handle) != nil)
            #expect(store.remembered(handles[39].handle) != nil)
        }
    }
}
