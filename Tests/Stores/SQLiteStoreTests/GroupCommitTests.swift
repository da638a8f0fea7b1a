import Delivery
import GRDB
import Notifications
import SQLiteSupport
import Storage
import Testing

@testable import SQLiteStore

@Suite("Group commit")
struct GroupCommitTests {
    @Test
    func `Writes that wait while the writer is busy are committed together, each with its own result`() async throws {
        try await withStore { store, _ in
            let release = await store.holdWriter()
            let answers = try await withThrowingTaskGroup(of: [MailboxVersion].self) { group in
                for device in 1...50 as ClosedRange<UInt64> {
                    group.addTask {
                        let entries = (1...4).map { Example.entry(Example.destination(device, app: $0)) }
                        return try await store.store(entries).map { try $0.get() }
                    }
                }
                try await store.waitForPending(200)
                release()
                return try await group.reduce(into: [MailboxVersion]()) { $0 += $1 }
            }
            #expect(store.commits.statistics.transactions == 1)
            #expect(store.commits.statistics.items == 200)
            #expect(Set(answers).count == 200)
            #expect(store.commits.pendingItems == 0)
        }
    }

    @Test
    func `Items beyond the limit are refused, one by one`() async throws {
        try await withStore(maximumPendingItems: 10) { store, _ in
            let release = await store.holdWriter()
            async let first = store.store((1...7).map { Example.entry(Example.destination(app: $0)) })
            try await store.waitForPending(7)
            async let second = store.store((11...15).map { Example.entry(Example.destination(app: $0)) })
            try await store.waitForPending(10)
            let third = await store.store([Example.entry(Example.destination(app: 99))])
            #expect(third == [.failure(.busy)])
            release()
            for result in await first { _ = try result.get() }
            let results = await second
            #expect(results.prefix(3).allSatisfy { (try? $0.get()) != nil })
            #expect(results.suffix(2) == [.failure(.busy), .failure(.busy)])
            #expect(try await store.entries(of: Example.destination().deviceKey).count == 10)
        }
    }

    @Test
    func `A queue that was full accepts writes again when it has room`() async throws {
        try await withStore(maximumPendingItems: 1) { store, _ in
            for id in 1...5 as ClosedRange<UInt64> {
                for result in await store.store([Example.entry(id: id)]) { _ = try result.get() }
            }
        }
    }

    @Test
    func `The queue's limit is the work of a second, and a batch of Delivery is half of it`() {
        #expect(GroupCommit.defaultMaximumPendingItems == 16_384)
        let stores = DeliveryLimits.shards * DeliveryLimits().storesPerBatch
        #expect(stores * 2 == GroupCommit.defaultMaximumPendingItems)
    }

    @Test
    func `An item that the database refuses fails alone; the rest of its batch and transaction is stored`() async throws
    {
        try await withStore { store, _ in
            // The trigger makes an insertion fail, as a constraint would.
            try await store.connections.writeWithoutTransaction { database in
                try database.execute(
                    sql: """
                        CREATE TEMP TRIGGER refuse BEFORE INSERT ON mailbox WHEN new.app = 2
                        BEGIN SELECT RAISE(ABORT, 'refused'); END
                        """
                )
            }
            let release = await store.holdWriter()
            async let mixed = store.store((1...3).map { Example.entry(Example.destination(app: $0)) })
            try await store.waitForPending(3)
            async let other = store.store([Example.entry(Example.destination(app: 4))])
            try await store.waitForPending(4)
            release()
            let stored = await mixed.map { (try? $0.get()) != nil }
            #expect(stored == [true, false, true])
            for result in await other { _ = try result.get() }
            let apps = try await store.entries(of: Example.destination().deviceKey).map(
                \.entry.destination.app.rawValue)
            #expect(apps == [1, 3, 4])
        }
    }

    @Test
    func `A change of several rows that fails is undone completely, and its transaction goes on`() async throws {
        try await withStore(registered: []) { store, _ in
            let destination = Example.destination()
            let registration = try await store.register(destination, tokenKeyID: 1, at: Example.moment)
            _ = await store.store([Example.entry(destination)])
            try await store.connections.writeWithoutTransaction { database in
                try database.execute(
                    sql: """
                        CREATE TEMP TRIGGER refuse BEFORE DELETE ON mailbox BEGIN SELECT RAISE(ABORT, 'refused'); END
                        """
                )
            }
            let release = await store.holdWriter()
            let ending = Task { try await store.end(destination, at: Example.moment) }
            try await store.waitForPending(1)
            async let other = store.register(Example.destination(2), tokenKeyID: 1, at: Example.moment)
            try await store.waitForPending(2)
            release()
            await #expect(throws: StoreError.self) { try await ending.value }
            let otherRegistration = try await other
            #expect(otherRegistration.isActive)
            #expect(store.knownRegistration(of: destination) == .registered(registration))
            #expect(
                try await store.connections.read { try Bool.fetchOne($0, sql: "SELECT active FROM registration") }
                    == true)
        }
    }

    @Test
    func `Changes of one registration take effect in the order of the calls`() async throws {
        try await withStore(registered: []) { store, _ in
            let destination = Example.destination()
            let release = await store.holdWriter()
            async let registered = store.register(destination, tokenKeyID: 1, at: Example.moment)
            try await store.waitForPending(1)
            async let ended = store.end(destination, at: Example.moment)
            try await store.waitForPending(2)
            async let again = store.register(destination, tokenKeyID: 1, at: Example.moment.advanced(by: .seconds(1)))
            try await store.waitForPending(3)
            release()
            let (first, second, third) = (try await registered, try await ended, try await again)
            #expect([first.isActive, second?.isActive, third.isActive] == [true, false, true])
            #expect(store.knownRegistration(of: destination) == .registered(third))
            #expect(store.commits.statistics.transactions == 1)
        }
    }

    @Test
    func `Storing sees earlier writes of the same transaction`() async throws {
        try await withStore(registered: []) { store, _ in
            let (destination, later) = (Example.destination(), Example.moment.advanced(by: .seconds(1)))
            let release = await store.holdWriter()
            async let early = store.store([Example.entry()])
            try await store.waitForPending(1)
            async let registered = store.register(destination, tokenKeyID: 1, at: Example.moment)
            try await store.waitForPending(2)
            async let stored = store.store([Example.entry()])
            try await store.waitForPending(3)
            async let ended = store.end(destination, at: later)
            try await store.waitForPending(4)
            async let late = store.store([Example.entry()])
            try await store.waitForPending(5)
            release()
            _ = (try await registered, try await ended)
            #expect(await early == [.failure(.ended(at: Example.moment))])
            let results = await stored
            #expect(results.allSatisfy { (try? $0.get()) != nil })
            #expect(await late == [.failure(.ended(at: later))])
            #expect(store.commits.statistics.transactions == 1)
            #expect(try await store.entries(of: destination.deviceKey).isEmpty)
        }
    }

    @Test
    func `The undone changes of a failed job are not seen by the next job of its transaction`() async throws {
        try await withStore { store, _ in
            let destination = Example.destination()
            _ = await store.store([Example.entry()])
            try await store.connections.writeWithoutTransaction { database in
                try database.execute(
                    sql: """
                        CREATE TEMP TRIGGER refuse BEFORE DELETE ON mailbox BEGIN SELECT RAISE(ABORT, 'refused'); END
                        """
                )
            }
            let release = await store.holdWriter()
            let ending = Task { try await store.end(destination, at: Example.moment) }
            try await store.waitForPending(1)
            async let stored = store.store([Example.entry(id: 2)])
            try await store.waitForPending(2)
            release()
            await #expect(throws: StoreError.self) { try await ending.value }
            for result in await stored { _ = try result.get() }
        }
    }
}
