import CommonTesting
import Delivery
import Foundation
import GRDB
import Notifications
import SQLiteSupport
import Storage
import Testing

@testable import SQLiteStore

/// Runs the test with a new store.
/// - Parameter registered: the destinations with an active registration; by default all that tests store for.
func withStore(
    maximumPendingItems: Int = GroupCommit.defaultMaximumPendingItems,
    registered: [Destination] = Example.registered,
    log: any DeliveryLog = NoDeliveryLog(),
    _ body: (_ store: SQLiteStore, _ path: String) async throws -> Void,
) async throws {
    try await withTemporaryPath { path in
        if !registered.isEmpty {
            try await SQLiteStore.open(folder: path).close()
            try insertRegistrations(registered, into: path + "/" + SQLiteStore.fileName)
        }
        let journal = MailboxJournal(log: log, clock: { Example.moment })
        let store = try await SQLiteStore.open(
            folder: path, maximumPendingItems: maximumPendingItems, journal: journal)
        try await withCleanUp {
            try await body(store, path)
        } cleanUp: {
            await store.close()
        }
    }
}

/// Opens the store as a crash at this moment would leave it, from a copy of its files.
func withStoreAfterCrash(
    of path: String,
    named name: String = "",
    _ body: (SQLiteStore) async throws -> Void,
) async throws {
    let copy = path + "-crashed" + name
    try FileManager.default.createDirectory(atPath: copy, withIntermediateDirectories: false)
    for suffix in ["", "-wal"] {
        let name = SQLiteStore.fileName + suffix
        try FileManager.default.copyItem(atPath: path + "/" + name, toPath: copy + "/" + name)
    }
    let store = try await SQLiteStore.open(folder: copy)
    try await withCleanUp {
        try await body(store)
    } cleanUp: {
        await store.close()
    }
}

/// Returns the error of opening the folder.
func openingError(_ path: String) async throws -> StoreError {
    do throws(StoreError) {
        let store = try await SQLiteStore.open(folder: path)
        await store.close()
    } catch {
        return error
    }
    throw StoreError(.exists, "opening succeeded")
}

extension SQLiteStore {
    /// Keeps the writer busy until the returned function is called, so that writes wait meanwhile.
    func holdWriter() async -> @Sendable () -> Void {
        let release = DispatchSemaphore(value: 0)
        await withCheckedContinuation { continuation in
            connections.asyncWriteWithoutTransaction { _ in
                continuation.resume()
                release.wait()
            }
        }
        return { release.signal() }
    }

    /// Waits until this many items wait to be written.
    func waitForPending(_ count: Int) async throws {
        try await wait(while: commits.pendingItems < count)
    }

    /// Allows the database this many more pages of 4 KiB. Beyond that SQLite reports a full disk.
    func limitGrowth(toPages pages: Int) async throws {
        try await connections.writeWithoutTransaction { database in
            let count = try Int.fetchOne(database, sql: "PRAGMA page_count") ?? 0
            try database.execute(sql: "PRAGMA max_page_count = \(count + pages)")
        }
    }
}

enum Example {
    static let moment = Timestamp(milliseconds: 1_700_000_000_000)

    static let registered =
        (1...200).map { destination(app: $0) }
        + (2...50).flatMap { device in (1...4).map { destination(device, app: $0) } }

    static func destination(_ device: UInt64 = 1, app: UInt32 = 1) -> Destination {
        Destination(environment: .production, device: DeviceID(rawValue: device), app: AppID(rawValue: app))
    }

    static func entry(_ destination: Destination = destination(), id: UInt64 = 1, bytes: Int = 20) -> MailboxEntry {
        MailboxEntry(
            destination: destination,
            notification: Notifications.Notification(
                id: NotificationID(high: id, low: id),
                topic: "com.example.app",
                payload: Payload(stored: [UInt8](repeating: 0x20, count: bytes), contents: [.aps]),
            ),
            expires: moment,
        )
    }
}

/// Writes this many registrations into a closed database: generation n on device n, every second one active.
func insertRegistrations(_ count: Int, into file: String) throws {
    let queue = try DatabaseQueue(path: file)
    try queue.write { database in
        try database.execute(
            sql: """
                WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?)
                INSERT INTO registration SELECT 1, i, 1, i, 3, i, i % 2 = 0, i + 1 FROM n
                """,
            arguments: [count],
        )
    }
    try queue.close()
}

/// Writes active registrations into a closed database.
func insertRegistrations(_ destinations: [Destination], into file: String) throws {
    let queue = try DatabaseQueue(path: file)
    try queue.write { database in
        for destination in destinations {
            try database.execute(
                sql: "INSERT INTO registration VALUES (?, ?, ?, 1, 1, 0, 1, 0)", arguments: destination.arguments)
        }
    }
    try queue.close()
}
