package import Delivery
import Notifications
import PostgresClient
import PostgresSupport
package import Storage

extension PostgresStore: AttemptNumbers {
    package func attemptMark() async throws(StoreError) -> AttemptMark? {
        let rows = try await read("SELECT bound, moment FROM carillon.attempt_mark WHERE is_only", [])
        guard let row = rows.first else { return nil }
        guard let bound = row.integer(0).flatMap({ UInt64(exactly: $0) }), let moment = row.integer(1),
            let mark = AttemptMark(bound: bound, time: Timestamp(column: moment))
        else {
            throw StoreError(
                .unreadable, "The table carillon.attempt_mark is damaged: restore a backup of the database.")
        }
        return mark
    }

    package func keep(_ mark: AttemptMark) async throws(StoreError) {
        _ = try await Self.execute(
            [
                PostgresStatement(
                    """
                    INSERT INTO carillon.attempt_mark AS kept (bound, moment) VALUES ($1, $2)
                    ON CONFLICT (is_only) DO UPDATE SET bound = excluded.bound, moment = excluded.moment
                    WHERE kept.bound < excluded.bound
                    """,
                    [.integer(Int64(clamping: mark.bound)), .integer(mark.time.column)])
            ], on: writers[0])
    }
}
