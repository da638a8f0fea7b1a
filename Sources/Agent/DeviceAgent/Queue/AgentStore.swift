import APNSDevice
import Dispatch
import Foundation
import GRDB
import Notifications
import PrivateFiles
import SQLiteSupport
package import Storage

/// What the agent keeps on the disk: the apps that have registered, and the events that they have not handled.
///
/// Each function returns when its change is on the disk (`synchronous = FULL`). It works on the thread of its caller, because one
/// connection serves all, and passing from thread to thread would take longer than most statements
/// (docs/decisions/0083-agent-store.md).
package final class AgentStore: Sendable {
    /// The name of the database file in the agent's folder.
    static let fileName = "agent.sqlite"
    /// SQLite's cache of pages, in KiB. The agent reads little.
    private static let cacheKilobytes = 512
    /// The size of the write-ahead log, in pages of 4 KiB, at which it is copied into the database.
    private static let logPages = 100

    private let queue: DatabaseQueue
    /// How many of the newest notifications are remembered.
    private let seenNotifications: Int
    /// Where a damaged database was put at the start; nil if there was none.
    package let damaged: String?

    /// Opens the store in an existing folder. Creates the file if it is missing. A damaged one is put aside: its
    /// notifications are lost, but the apps get those that come from now on.
    package init(
        folder: String,
        seenNotifications: Int = AgentLimits.seenNotifications,
    ) throws(StoreError) {
        self.seenNotifications = seenNotifications
        let path = folder + "/" + Self.fileName
        do {
            queue = try Self.open(path)
            damaged = nil
        } catch  where error.code == .unreadable {
            // It replaces one that was damaged before: a disk that fails again and again must not be filled with them.
            let place = path + ".damaged"
            try Files.rename(path, to: place)
            // These belong to the old file; SQLite must not apply them to the new one.
            for suffix in ["-wal", "-shm"] { try Files.remove(path + suffix) }
            queue = try Self.open(path)
            damaged = place
        }
    }

    private static func open(_ path: String) throws(StoreError) -> DatabaseQueue {
        if try !Files.exists(path) { _ = try Files.make(path, [], replacing: false) }
        do {
            var configuration = Configuration()
            configuration.label = "DeviceAgent"
            configuration.busyMode = .timeout(2)
            configuration.journalMode = .wal
            configuration.prepareDatabase { database in
                try database.execute(
                    sql: """
                        PRAGMA cache_size = -\(cacheKilobytes);
                        PRAGMA wal_autocheckpoint = \(logPages);
                        """)
            }
            let queue = try DatabaseQueue(path: path, configuration: configuration)
            // GRDB sets NORMAL when it opens the log, which could lose the newest notifications in a power failure.
            try queue.writeWithoutTransaction { try $0.execute(sql: "PRAGMA synchronous = FULL") }
            let fault = try queue.read { try String.fetchOne($0, sql: "PRAGMA quick_check(1)") }
            guard fault == "ok" else { throw SQLiteFailure.damaged(fault ?? "no answer") }
            guard try !queue.read(AgentSchema.migrator.hasBeenSuperseded) else {
                throw StoreError(.unavailable, "\(path) was made by a newer version: use that version.")
            }
            try AgentSchema.migrator.migrate(queue)
            return queue
        } catch let error as StoreError {
            throw error
        } catch {
            throw SQLiteFailure(error).storeError
        }
    }

    // MARK: Events

    /// Adds events of an app, and the notification that they come from to those that were seen. If it was seen before, adds
    /// nothing.
    /// - Parameter badge: the app's new badge; nil if it does not change.
    /// - Returns: how many of the app's oldest events were removed to make room.
    func add(
        _ events: [String],
        of bundleID: String,
        from notification: String? = nil,
        badge: Int? = nil,
    ) throws(StoreError) -> Int {
        try write { database throws(SQLiteFailure) in
            if let notification, try !see(notification, database) { return 0 }
            if let badge { try Self.keep(badge, of: bundleID, database) }
            for event in events {
                try database.run(
                    "INSERT INTO event (bundleID, text) VALUES (?, ?)", [bundleID, Data(event.utf8)])
            }
            guard !events.isEmpty else { return 0 }
            let isFull = try database.firstRow(
                "SELECT count(*) > ? OR sum(length(text)) > ? FROM event WHERE bundleID = ?",
                [AgentLimits.queuedEvents, AgentLimits.queuedBytes, bundleID]
            ) { $0.integer(0) != 0 }
            guard isFull == true else { return 0 }
            // The newest one stays, whatever its size is.
            return try database.run(
                """
                DELETE FROM event WHERE bundleID = ?1 AND delivery <= (
                    SELECT max(delivery) FROM (
                        SELECT delivery, row_number() OVER newest AS number, sum(length(text)) OVER newest AS bytes
                        FROM event WHERE bundleID = ?1 WINDOW newest AS (ORDER BY delivery DESC)
                    ) WHERE number > 1 AND (number > ?2 OR bytes > ?3)
                )
                """, [bundleID, AgentLimits.queuedEvents, AgentLimits.queuedBytes])
        }
    }

    /// - Returns: whether the notification is new.
    func see(_ notification: String, _ database: Database) throws(SQLiteFailure) -> Bool {
        guard try database.run("INSERT OR IGNORE INTO seen (id) VALUES (?)", [Data(notification.utf8)]) == 1 else {
            return false
        }
        try database.run(
            "DELETE FROM seen WHERE number <= (SELECT max(number) FROM seen) - ?", [seenNotifications])
        return true
    }

    /// Whether a notification has come before.
    func hasSeen(_ notification: String) -> Bool {
        let found = try? read { database throws(SQLiteFailure) in
            try database.firstRow("SELECT 1 FROM seen WHERE id = ?", [Data(notification.utf8)]) { _ in true }
        }
        // If the database cannot be read, the notification cannot be stored either, which is tried until it works.
        return (found ?? nil) ?? false
    }

    /// The events of an app in their order, up to ``AgentLimits/pageBytes``.
    func events(of bundleID: String, after delivery: Int64, limit: Int) throws(StoreError) -> [QueuedEvent] {
        try read { database throws(SQLiteFailure) in
            try database.perform { database in
                let sql = """
                    SELECT delivery, text, attempts FROM event WHERE bundleID = ? AND delivery > ? ORDER BY delivery LIMIT ?
                    """
                let rows = try Row.fetchCursor(
                    database.cachedStatement(sql: sql), arguments: [bundleID, delivery, limit])
                var (events, bytes): ([QueuedEvent], Int) = ([], 0)
                while let row = try rows.next() {
                    let event = Self.event(row)
                    bytes += event.text.count
                    guard events.isEmpty || bytes <= AgentLimits.pageBytes else { break }
                    events.append(event)
                }
                return events
            }
        }
    }

    /// The oldest event of an app for which a command may be tried.
    func eventToTry(of bundleID: String) throws(StoreError) -> QueuedEvent? {
        try read { database throws(SQLiteFailure) in
            try database.firstRow(
                """
                SELECT delivery, text, attempts FROM event WHERE bundleID = ? AND attempts < ? ORDER BY delivery LIMIT 1
                """, [bundleID, AgentLimits.attempts], Self.event)
        }
    }

    private static func event(_ row: Row) -> QueuedEvent {
        QueuedEvent(delivery: row.integer(0), text: Array(row.blob(1)), attempts: Int(clamping: row.integer(2)))
    }

    /// Counts an attempt of a command.
    func countAttempt(_ delivery: Int64) throws(StoreError) {
        _ = try write { database throws(SQLiteFailure) in
            try database.run("UPDATE event SET attempts = attempts + 1 WHERE delivery = ?", [delivery])
        }
    }

    /// Removes events that the app has handled.
    /// - Returns: how many of them were there.
    func remove(_ deliveries: [Int64], of bundleID: String) throws(StoreError) -> Int {
        try write { database throws(SQLiteFailure) in
            var count = 0
            for delivery in deliveries {
                count += try database.run(
                    "DELETE FROM event WHERE delivery = ? AND bundleID = ?", [delivery, bundleID])
            }
            return count
        }
    }

    /// How many events each app has not handled.
    func counts() throws(StoreError) -> [String: Int] {
        let rows = try read { database throws(SQLiteFailure) in
            try database.rows("SELECT bundleID, count(*) FROM event GROUP BY bundleID") { row in
                (row.text(0), Int(clamping: row.integer(1)))
            }
        }
        return Dictionary(rows) { first, _ in first }
    }

    // MARK: Apps

    func records() throws(StoreError) -> [String: AppRecord] {
        let rows = try read { database throws(SQLiteFailure) in
            try database.rows("SELECT bundleID, record FROM app") { ($0.text(0), $0.blob(1)) }
        }
        // A record that cannot be read is left out. The app registers again at its next start.
        return Dictionary(
            rows.compactMap { name, data in
                (try? JSONValue.decode(data, as: AppRecord.self)).map { (name, $0) }
            }
        ) { first, _ in first }
    }

    /// Keeps an app. If its badges are switched off, its badge is removed.
    func keep(_ record: AppRecord, of bundleID: String) throws(StoreError) {
        // Encoding cannot fail: a record consists of texts and truth values.
        let data = Data(((try? JSONValue(encoding: record)) ?? .null).text.utf8)
        _ = try write { database throws(SQLiteFailure) in
            try database.run("DELETE FROM removed WHERE bundleID = ?", [bundleID])
            if !record.currentSettings.badges { try Self.keep(0, of: bundleID, database) }
            return try database.run("INSERT OR REPLACE INTO app (bundleID, record) VALUES (?, ?)", [bundleID, data])
        }
    }

    /// Removes an app and its events, and remembers to tell the service.
    func removeApp(_ bundleID: String) throws(StoreError) {
        _ = try write { database throws(SQLiteFailure) in
            try database.run("DELETE FROM app WHERE bundleID = ?", [bundleID])
            try database.run("DELETE FROM event WHERE bundleID = ?", [bundleID])
            try database.run("DELETE FROM badge WHERE bundleID = ?", [bundleID])
            return try database.run("INSERT OR REPLACE INTO removed (bundleID) VALUES (?)", [bundleID])
        }
    }

    /// The removed apps of which the service does not know that yet.
    func removedApps() throws(StoreError) -> [String] {
        try read { database throws(SQLiteFailure) in
            try database.rows("SELECT bundleID FROM removed") { $0.text(0) }
        }
    }

    /// The service knows that an app was removed.
    func forget(_ bundleID: String) throws(StoreError) {
        _ = try write { database throws(SQLiteFailure) in
            try database.run("DELETE FROM removed WHERE bundleID = ?", [bundleID])
        }
    }

    // MARK: Badges

    /// The badges of the apps that have one.
    func badges() throws(StoreError) -> [String: Int] {
        let rows = try read { database throws(SQLiteFailure) in
            try database.rows("SELECT bundleID, number FROM badge") { ($0.text(0), Int(clamping: $0.integer(1))) }
        }
        return Dictionary(rows) { first, _ in first }
    }

    /// - Parameter badge: 0 removes it.
    func keepBadge(_ badge: Int, of bundleID: String) throws(StoreError) {
        try write { database throws(SQLiteFailure) in try Self.keep(badge, of: bundleID, database) }
    }

    private static func keep(_ badge: Int, of bundleID: String, _ database: Database) throws(SQLiteFailure) {
        if badge > 0 {
            try database.run("INSERT OR REPLACE INTO badge (bundleID, number) VALUES (?, ?)", [bundleID, badge])
        } else {
            try database.run("DELETE FROM badge WHERE bundleID = ?", [bundleID])
        }
    }

    // MARK: Settings

    func setting(_ name: String) throws(StoreError) -> String? {
        try read { database throws(SQLiteFailure) in
            try database.firstRow("SELECT value FROM setting WHERE name = ?", [name]) { $0.text(0) }
        }
    }

    func keep(_ value: String, as name: String) throws(StoreError) {
        _ = try write { database throws(SQLiteFailure) in
            try database.run("INSERT OR REPLACE INTO setting (name, value) VALUES (?, ?)", [name, value])
        }
    }

    // MARK: The database

    /// Copies the log into the database, and removes it.
    func close() {
        // If there is no room for that, the next start does it.
        try? queue.close()
    }

    /// SQLite's setting for how far a commit waits for the disk.
    var synchronous: Int64? {
        get throws(StoreError) {
            try read { database throws(SQLiteFailure) in
                try database.firstRow("PRAGMA synchronous") { $0.integer(0) }
            }
        }
    }

    /// What is done with the database.
    typealias Body<Value> = (Database) throws(SQLiteFailure) -> Value

    func write<Value>(_ body: Body<Value>) throws(StoreError) -> Value {
        try Self.explained { try queue.write { try body($0) } }
    }

    /// Executes one statement that reads.
    func read<Value>(_ body: Body<Value>) throws(StoreError) -> Value {
        // GRDB's `read` sets `query_only` before and after, and SQLite then compiles each statement of the connection again.
        try Self.explained { try queue.unsafeRead { try body($0) } }
    }

    /// Gives SQLite's errors their meaning.
    private static func explained<Value>(_ body: () throws -> Value) throws(StoreError) -> Value {
        do {
            return try body()
        } catch {
            throw SQLiteFailure(error).storeError
        }
    }
}
