package import Delivery
import GRDB
import Notifications
import SQLiteSupport
package import Storage

extension SQLiteStore: AttemptNumbers {
    package func attemptMark() async throws(StoreError) -> AttemptMark? {
        try await read { database throws(SQLiteFailure) in
            guard let bound = try Self.metaIfPresent(.attemptsBound, in: database),
                let time = try Self.metaIfPresent(.attemptsTime, in: database)
            else { return nil }
            guard let bound = UInt64(exactly: bound),
                let mark = AttemptMark(bound: bound, time: Timestamp(column: time))
            else { throw .damaged("a bound of the attempts that cannot be") }
            return mark
        }
    }

    package func keep(_ mark: AttemptMark) async throws(StoreError) {
        try await commits.write(undoable: true) { database, _ throws(SQLiteFailure) in
            let kept = try Self.metaIfPresent(.attemptsBound, in: database) ?? 0
            let bound = Int64(clamping: mark.bound)
            guard bound > kept else { return }
            // Insert the rows if they are missing. That is so in a folder of an older release, if a full disk
            // prevented adding them at the start.
            try database.run(
                """
                INSERT INTO meta (key, value) VALUES (?, ?), (?, ?)
                ON CONFLICT (key) DO UPDATE SET value = excluded.value
                """,
                [
                    SQLiteSchema.Meta.attemptsBound.rawValue, bound,
                    SQLiteSchema.Meta.attemptsTime.rawValue, mark.time.column,
                ])
        } committed: { _ in
        }.get()
    }
}
