import AccountTables
package import Delivery
import Foundation
import GRDB
import Notifications
import PrivateFiles
import SQLiteSupport
package import Storage

// What is written here is not in the store's memory: the store has to be opened again before it can be used.
extension SQLiteStore: CopyableStore {
    package var secretNames: Set<SecretName> { files?.secrets.present ?? [] }

    package func isUnfinishedCopy() async throws(StoreError) -> Bool {
        try await read { database throws(SQLiteFailure) in
            try Self.metaIfPresent(.copySource, in: database) != nil
        }
    }

    // MARK: Reading

    package func copiedAccounts() async throws(StoreError) -> CopiedAccounts {
        let snapshot = current
        return try await read { database throws(SQLiteFailure) in
            let last = try AccountRows.nextAppID(in: database).rawValue - 1
            return CopiedAccounts(snapshot: snapshot, lastApp: AppID(rawValue: last))
        }
    }

    package func countDestinations() async throws(StoreError) -> Int {
        try await read { database throws(SQLiteFailure) in
            try database.firstRow("SELECT count(*) FROM registration") { Int(clamping: $0.integer(0)) } ?? 0
        }
    }

    package func copiedDestinations(
        after destination: Destination?,
        limit: Int,
    ) async throws(StoreError) -> [CopiedDestination] {
        try await read { database throws(SQLiteFailure) in
            try database.rows(
                """
                SELECT r.environment, r.device, r.app, generation, token_key, token_since, active, changed,
                    r.app, version, expires, id, priority, expiration, contents, push_type, topic, collapse_id, payload
                FROM registration AS r LEFT JOIN mailbox USING (environment, device, app)
                WHERE (r.environment, r.device, r.app) > (?, ?, ?)
                ORDER BY r.environment, r.device, r.app LIMIT ?
                """,
                (destination?.arguments ?? [-1, 0, 0]) + [limit],
            ) { row throws(SQLiteFailure) in
                let (destination, registration) = try row.registration()
                let isEmpty = row.hasNull(atIndex: 9)
                let mailbox = isEmpty ? nil : row.mailboxEntry(of: destination.deviceKey, from: 8)
                guard isEmpty || mailbox != nil else {
                    throw .damaged("a mailbox of device \(destination.device)")
                }
                return CopiedDestination(destination: destination, registration: registration, mailbox: mailbox)
            }
        }
    }

    package func copiedKept(
        after reference: MailboxReference?,
        limit: Int,
    ) async throws(StoreError) -> [StoredMailboxEntry] {
        try await read { database throws(SQLiteFailure) in
            try KeptWriting.all(after: reference, limit: limit, in: database)
        }
    }

    package func copiedSubscriptions(
        after subscription: WebPushSubscription?,
        limit: Int,
    ) async throws(StoreError) -> [WebPushSubscription] {
        let start: StatementArguments =
            subscription.map { $0.destination.arguments + [Data($0.name.utf8)] } ?? [-1, 0, 0, Data()]
        return try await read { database throws(SQLiteFailure) in
            try Self.subscriptions(
                "(s.environment, s.device, s.app, s.name) > (?, ?, ?, ?)", start, limit: limit, in: database)
        }
    }

    package func copiedFeedback(
        _ list: FeedbackList,
        after mark: FeedbackMark?,
        limit: Int,
    ) async throws(StoreError) -> [CopiedFeedback] {
        try await read { database throws(SQLiteFailure) in
            try database.rows(
                """
                SELECT number, device, generation, moment, token FROM feedback
                WHERE environment = ? AND app = ? AND number > ? ORDER BY number LIMIT ?
                """,
                [list.environment.column, list.app.rawValue, Int64(clamping: mark?.rawValue ?? 0), limit],
            ) { row throws(SQLiteFailure) in
                guard let number = UInt64(exactly: row.integer(0)), let generation = UInt32(exactly: row.integer(2)),
                    let token = DeviceToken(row.blob(4))
                else { throw .damaged("a feedback entry that is not valid") }
                let destination = Destination(
                    environment: list.environment, device: DeviceID(column: row.integer(1)), app: list.app)
                return CopiedFeedback(
                    mark: FeedbackMark(rawValue: number),
                    entry: FeedbackEntry(
                        destination: destination, generation: generation, token: token,
                        moment: Timestamp(column: row.integer(3))))
            }
        }
    }

    // MARK: Writing

    package func beginCopy(of source: Int64) async throws(StoreError) {
        let hasSecrets = !secretNames.isEmpty
        let isOurs = try await commits.write(undoable: true) { database, _ throws(SQLiteFailure) -> Bool in
            let present = try Self.metaIfPresent(.copySource, in: database)
            let hasAccounts = try Self.meta(.accountsVersion, in: database) > 0
            guard present == source || (present == nil && !hasAccounts && !hasSecrets) else { return false }
            try Self.removeEverything(from: database)
            try database.run(
                "INSERT OR REPLACE INTO meta (key, value) VALUES (?, ?)",
                [SQLiteSchema.Meta.copySource.rawValue, source])
            return true
        } committed: {
            $0
        }.get()
        guard isOurs else { throw .notEmpty }
    }

    private static func removeEverything(from database: Database) throws(SQLiteFailure) {
        // Rows refer to others. The order does not matter if references are checked at the end.
        try database.run("PRAGMA defer_foreign_keys = ON", [])
        var tables: [String] = []
        try database.forEachRow(
            """
            SELECT name FROM sqlite_master
            WHERE type = 'table' AND name NOT IN ('meta', 'grdb_migrations') AND name NOT LIKE 'sqlite%'
            """
        ) { tables.append($0.text(0)) }
        for table in tables { try database.run("DELETE FROM \"\(table)\"", []) }
    }

    package func fill(_ accounts: CopiedAccounts) async throws(StoreError) {
        try await write { database throws(SQLiteFailure) in
            try database.sql { try AccountRows.write(accounts, $0) }
            try database.run("DELETE FROM sqlite_sequence WHERE name = 'app'", [])
            try database.run("INSERT INTO sqlite_sequence (name, seq) VALUES ('app', ?)", [accounts.lastApp.rawValue])
            try Self.setMeta(.accountsVersion, to: Int64(clamping: accounts.snapshot.version), in: database)
        }
    }

    package func fill(_ destinations: [CopiedDestination]) async throws(StoreError) {
        try await write(items: destinations.count) { database throws(SQLiteFailure) in
            var newest: UInt64 = 0
            for copied in destinations {
                try Self.set(copied.registration, of: copied.destination, in: database)
                guard let mailbox = copied.mailbox else { continue }
                try Self.insert(mailbox, in: database)
                newest = max(newest, mailbox.version.rawValue)
            }
            try Self.reserve(newest, in: database)
        }
    }

    package func fill(_ subscriptions: [WebPushSubscription]) async throws(StoreError) {
        try await write(items: subscriptions.count) { database throws(SQLiteFailure) in
            for subscription in subscriptions { try Self.write(subscription, in: database) }
        }
    }

    package func fill(kept entries: [StoredMailboxEntry]) async throws(StoreError) {
        try await write(items: entries.count) { database throws(SQLiteFailure) in
            for stored in entries { try KeptWriting.insert(stored.entry, number: stored.version.number, in: database) }
            try Self.reserve(entries.map(\.version.number).max() ?? 0, in: database)
        }
    }

    /// New versions must be greater than all that are in use.
    private static func reserve(_ newest: UInt64, in database: Database) throws(SQLiteFailure) {
        let reserved = Int64(clamping: newest < .max ? newest + 1 : newest)
        if try meta(.mailboxVersionsReserved, in: database) < reserved {
            try setMeta(.mailboxVersionsReserved, to: reserved, in: database)
        }
    }

    private static func insert(_ mailbox: StoredMailboxEntry, in database: Database) throws(SQLiteFailure) {
        let entry = mailbox.entry
        try database.run(
            """
            INSERT INTO mailbox (
                environment, device, app, version, expires, id, priority, expiration, contents, push_type, topic,
                collapse_id, payload
            ) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, CAST(? AS TEXT), CAST(? AS TEXT), ?)
            """,
            entry.destination.arguments + [
                Int64(clamping: mailbox.version.rawValue), entry.expires.column,
            ] + entry.notification.arguments)
    }

    /// The entries get new numbers, in the same order: the numbers of all lists are counted together here.
    package func fill(_ feedback: [CopiedFeedback]) async throws(StoreError) {
        try await write(items: feedback.count) { database throws(SQLiteFailure) in
            for copied in feedback { _ = try Self.insert(copied.entry, in: database) }
        }
    }

    package func endCopy() async throws(StoreError) {
        try await write { database throws(SQLiteFailure) in
            try database.run("DELETE FROM meta WHERE key = ?", [SQLiteSchema.Meta.copySource.rawValue])
        }
    }

    private func write(
        items: Int = 1,
        _ body: @escaping @Sendable (Database) throws(SQLiteFailure) -> Void,
    ) async throws(StoreError) {
        let accepted = try await commits.write(items: items, undoable: true) {
            database, accepted throws(SQLiteFailure) -> Bool in
            guard accepted == items else { return false }
            try body(database)
            return true
        } committed: {
            $0
        }.get()
        guard accepted else { throw .busy }
    }

    /// - Throws: if the database is an unfinished copy.
    func checkCopy(_ folder: DatabaseFolder) throws(StoreError) {
        let source: Int64?
        do {
            source = try connections.read { database in try Self.metaIfPresent(.copySource, in: database) }
        } catch {
            throw folder.explain(SQLiteFailure(error))
        }
        guard source == nil else {
            throw StoreError(.unreadable, "\(folder.databasePath): \(StoreError.unfinishedCopy.cause)")
        }
    }
}
