import Delivery
import PostgresClient
package import Storage

extension PostgresStore {
    /// The table gets a new, empty file, and the old one is removed. PostgreSQL cannot overwrite it: what was in it stays on
    /// the disk, in the write-ahead log, in standbys and in backups until these write there again.
    package func overwriteClearHeld() async throws(StoreError) {
        let size = try await read(PostgresStatement("SELECT pg_relation_size('carillon.held_push')"))
        guard let bytes = size.first?.integer(0), bytes > 0 else { return }
        // A node of the release before may still add a row. Then the next start does it.
        _ = try await Self.execute(
            [
                PostgresStatement(
                    """
                    DO $$ BEGIN
                        LOCK TABLE carillon.held_push IN ACCESS EXCLUSIVE MODE;
                        IF NOT EXISTS (SELECT FROM carillon.held_push) THEN TRUNCATE carillon.held_push; END IF;
                    END $$
                    """)
            ], on: writers[0])
    }
}
