package import Delivery
import GRDB
import Notifications
import SQLiteSupport
package import Storage

import struct Foundation.Data

extension SQLiteStore: Feedback {
    package func record(_ entries: [FeedbackEntry]) async throws(StoreError) {
        guard !entries.isEmpty else { return }
        let limit = maximumFeedbackEntries
        let taken = try await commits.write(items: entries.count, undoable: true) {
            database, accepted throws(SQLiteFailure) in
            var isNew = false
            for entry in entries.prefix(accepted) where try Self.isTrue(entry, in: database) {
                isNew = try Self.insert(entry, in: database) || isNew
            }
            if isNew { try Self.forgetOldest(beyond: limit, in: database) }
            return accepted
        } committed: {
            $0
        }.get()
        guard taken == entries.count else { throw .busy }
    }

    package func entries(
        of list: FeedbackList,
        after mark: FeedbackMark?,
        limit: Int,
    ) async throws(StoreError) -> [ListedFeedback] {
        try await read { database throws(SQLiteFailure) in
            try database.rows(
                """
                SELECT number, token, moment FROM feedback
                WHERE environment = ? AND app = ? AND number > ? ORDER BY number LIMIT ?
                """,
                [list.environment.column, list.app.rawValue, Int64(clamping: mark?.rawValue ?? 0), limit],
            ) { row throws(SQLiteFailure) in
                guard let number = UInt64(exactly: row.integer(0)), let token = DeviceToken(row.blob(1)) else {
                    throw .damaged("a feedback entry that is not valid")
                }
                return ListedFeedback(
                    mark: FeedbackMark(rawValue: number), token: token, moment: Timestamp(column: row.integer(2)))
            }
        }
    }

    package func confirm(_ list: FeedbackList, through mark: FeedbackMark) async throws(StoreError) {
        try await commits.write(undoable: true) { database, _ throws(SQLiteFailure) in
            try database.run(
                "DELETE FROM feedback WHERE environment = ? AND app = ? AND number <= ?",
                [list.environment.column, list.app.rawValue, Int64(clamping: mark.rawValue)],
            )
        } committed: { _ in
        }.get()
    }
}

// MARK: - Rows

extension SQLiteStore {
    /// Removes the entries of an app that is on its device again, and of its services.
    static func removeFeedback(
        on destination: Destination,
        generation: UInt32,
        in database: Database,
    ) throws(SQLiteFailure) {
        try database.run(
            "DELETE FROM feedback WHERE environment = ? AND device = ? AND app = ? AND generation & ? = ?",
            destination.arguments + [TokenNumber.lastGeneration, generation],
        )
    }

    /// Whether the entry is still true. The app may have registered again since.
    private static func isTrue(_ entry: FeedbackEntry, in database: Database) throws(SQLiteFailure) -> Bool {
        entry.agrees(with: try registration(of: entry.destination, in: database))
    }

    /// - Returns: false if the entry was there already.
    static func insert(_ entry: FeedbackEntry, in database: Database) throws(SQLiteFailure) -> Bool {
        try database.run(
            """
            INSERT INTO feedback (environment, device, app, generation, moment, token) VALUES (?, ?, ?, ?, ?, ?)
            ON CONFLICT (environment, device, app, generation) DO NOTHING
            """,
            entry.destination.arguments + [entry.generation, entry.moment.column, Data(entry.token.array)],
        ) > 0
    }

    /// Removes the oldest entries if there are more than the limit. Entry numbers only grow, so the number alone
    /// tells which to remove.
    private static func forgetOldest(beyond limit: Int64, in database: Database) throws(SQLiteFailure) {
        try database.run("DELETE FROM feedback WHERE number <= (SELECT max(number) FROM feedback) - ?", [limit])
    }
}
