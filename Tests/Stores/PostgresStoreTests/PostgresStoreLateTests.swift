import CommonTesting
import Delivery
import Dispatch
import Notifications
import PostgresClient
import PostgresSupport
import PostgresTesting
import Storage
import Synchronization
import Testing

@testable import PostgresStore

/// Notifications that a node stores late or again, mailboxes that somebody has locked, and a node that is not ready.
@Suite("Late nodes and locked rows", .timeLimit(.minutes(2)))
struct PostgresStoreLateTests {
    private let moment = Timestamp(milliseconds: 1_700_000_000_000)

    private func destination(_ number: UInt64) -> Destination {
        Destination(environment: .production, device: DeviceID(rawValue: number), app: AppID(rawValue: 1))
    }

    private func entry(_ id: UInt64, to number: UInt64 = 1, age: Duration? = nil) -> MailboxEntry {
        MailboxEntry(
            destination: destination(number),
            notification: Notification(
                id: NotificationID(high: 1, low: id), topic: "com.example.app",
                payload: Payload(stored: Array(#"{"aps":{"badge":1}}"#.utf8), contents: [.aps, .badge])),
            expires: Timestamp(milliseconds: .max), age: age)
    }

    /// Two nodes on one database, with the app registered on two devices.
    private func withNodes(_ body: (PostgresStore, PostgresStore) async throws -> Void) async throws {
        var configuration = try await testConfiguration()
        // The tests renew the lease themselves.
        configuration.pollInterval = .seconds(3600)
        var other = configuration
        other.node = PostgresNode(name: "there", identity: [2])
        let (here, there) = (try await PostgresStore.open(configuration), try await PostgresStore.open(other))
        for number in 1...2 as ClosedRange<UInt64> {
            _ = try await here.register(destination(number), tokenKeyID: 1, at: moment)
        }
        try await body(here, there)
        await here.close()
        await there.close()
    }

    private func stored(_ store: PostgresStore, _ number: UInt64 = 1) async throws -> [UInt64] {
        try await store.entries(of: destination(number).deviceKey).map(\.entry.notification.id.low)
    }

    @Test
    func `A notification that is stored again does not replace another node's newer one`() async throws {
        try await withNodes { here, there in
            _ = try await here.store([entry(1)])[0].get()
            _ = try await there.store([entry(2)])[0].get()
            #expect(await here.store([entry(1, age: .zero)]) == [.failure(.overtaken)])
            #expect(try await stored(here) == [2])
            // Without an age it is new, and replaces what is there.
            _ = try await here.store([entry(3)])[0].get()
            #expect(try await stored(here) == [3])
        }
    }

    @Test
    func `A notification that is stored again replaces itself, an empty mailbox, and what is certainly older`()
        async throws
    {
        try await withNodes { here, there in
            _ = try await here.store([entry(1)])[0].get()
            let version = try await here.store([entry(1, age: .zero)])[0].get()
            #expect(try await stored(here) == [1])
            _ = await here.remove([MailboxReference(destination: destination(1), version: version)])
            _ = try await here.store([entry(2, age: .seconds(60))])[0].get()
            #expect(try await stored(here) == [2])
            _ = try await there.writers[0].execute(
                "UPDATE carillon.destination SET version = version - 600 * 1000000::bigint")
            _ = try await here.store([entry(3, age: .zero)])[0].get()
            #expect(try await stored(here) == [3])
        }
    }

    @Test
    func `A locked row does not delay the others of a batch, and is not stored`() async throws {
        try await withNodes { here, there in
            let (isLocked, isFree) = (Gate(), Gate())
            let location = here.configuration.location
            let transaction = Task {
                let connection = PostgresConnection(location, name: "operator")
                try await connection.transaction { transaction throws(PostgresError) in
                    try transaction.execute("SELECT 1 FROM carillon.destination WHERE device = 1 FOR UPDATE")
                    isLocked.signal()
                    isFree.wait()
                }
                await connection.close()
            }
            await isLocked.arrival()
            let results = await here.store([entry(1, to: 1), entry(2, to: 2)])
            #expect(results[0] == .failure(.rowLocked))
            _ = try results[1].get()
            // What has no row at all has no registration.
            let missing = await here.store([entry(3, to: 9)])
            if case .failure(let error) = missing[0], case .ended = error.code {} else { Issue.record("\(missing)") }
            isFree.signal()
            try await transaction.value
            _ = try await here.store([entry(1, to: 1)])[0].get()
            #expect(try await stored(here) == [1])
        }
    }

    @Test
    func `A store that does not confirm changes is not ready, and neither is one whose lease has run out`() async throws
    {
        try await withNodes { here, _ in
            #expect(await here.trouble() == nil)
            here.confirmationError.withLock { $0 = .changesStall }
            #expect(await here.trouble() == .changesStall)
            // The next renewal of the lease is confirmed.
            await here.poll()
            #expect(await here.trouble() == nil)
            here.lease.withLock { $0.renewed -= .seconds(PostgresStore.leaseSeconds + 1) }
            #expect(await here.trouble() == .leaseHasRunOut)
            await here.poll()
            #expect(await here.trouble() == nil)
        }
    }

    @Test
    func `A node names the cause, and not what follows from it`() async throws {
        try await withNodes { here, _ in
            try await TestServer.set("default_transaction_read_only", to: "on", in: here.configuration.location)
            try await wait(while: await here.trouble()?.cause.contains("is read-only") != true)
            // Nothing can be confirmed by a server that is read-only, and after a while the lease runs out.
            here.confirmationError.withLock { $0 = .changesStall }
            here.lease.withLock { $0.renewed -= .seconds(PostgresStore.leaseSeconds + 1) }
            #expect(await here.trouble()?.cause.contains("is read-only") == true)
        }
    }

    @Test
    func `A lease that is renewed while the server answers has not run out`() async throws {
        try await withNodes { here, _ in
            let (isBusy, isFree) = (Gate(), Gate())
            let transaction = Task {
                try await here.control.transaction { _ throws(PostgresError) in
                    isBusy.signal()
                    isFree.wait()
                }
            }
            await isBusy.arrival()
            here.lease.withLock { $0.renewed -= .seconds(PostgresStore.leaseSeconds + 1) }
            async let trouble = here.trouble()
            try await wait(while: here.control.waiting == 0)
            here.lease.withLock { $0.renewed = .now }
            isFree.signal()
            try await transaction.value
            #expect(await trouble == nil)
        }
    }

    @Test
    func `A writer that hangs makes the node not ready`() async throws {
        try await withNodes { here, _ in
            let (isLocked, isFree) = (Gate(), Gate())
            let location = here.configuration.location
            let transaction = Task {
                let connection = PostgresConnection(location, name: "operator")
                try await connection.transaction { transaction throws(PostgresError) in
                    try transaction.execute("LOCK TABLE carillon.destination IN SHARE MODE")
                    isLocked.signal()
                    isFree.wait()
                }
                await connection.close()
            }
            await isLocked.arrival()
            async let result = here.store([entry(1)])
            try await wait(while: await here.trouble() != .changesStall)
            isFree.signal()
            try await transaction.value
            _ = try await result[0].get()
            try await wait(while: await here.trouble() != nil)
        }
    }

    @Test
    func `A process that was stopped knows it until its lease is renewed`() {
        let start = ContinuousClock.now
        var detector = StopDetector(at: start)
        func after(_ seconds: Double) -> ContinuousClock.Instant { start.advanced(by: .seconds(seconds)) }
        detector.noteRunning(at: after(1.5))
        #expect(detector.wasStopped(at: after(3)) == false)
        // Stopped from 1.5 to 5.
        #expect(detector.wasStopped(at: after(5)) == true)
        detector.noteRunning(at: after(5.1))
        detector.renewed(at: after(4.9))
        #expect(detector.wasStopped(at: after(5.2)) == true)
        // Requests that waited in the sockets may not have been read yet, or are being looked up.
        detector.renewed(at: after(5.9))
        #expect(detector.wasStopped(at: after(5.95)) == true)
        detector.renewed(at: after(6))
        #expect(detector.wasStopped(at: after(6.1)) == false)
        // The thread notices it before anybody asks.
        detector.noteRunning(at: after(9))
        detector.noteRunning(at: after(9.2))
        #expect(detector.wasStopped(at: after(9.3)) == true)
    }
}

/// A signal between a thread that may block and a task that may not.
private final class Gate: Sendable {
    private let semaphore = DispatchSemaphore(value: 0)

    func signal() { semaphore.signal() }
    func wait() { semaphore.wait() }
    func arrival() async {
        await withCheckedContinuation { continuation in
            DispatchQueue.global().async {
                self.semaphore.wait()
                continuation.resume()
            }
        }
    }
}
