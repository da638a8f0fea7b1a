import Delivery
import Dispatch
import GRDB
import SQLiteSupport
package import Storage

extension SQLiteStore {
    /// The database is written again without its free space, and the write-ahead log emptied: a removed row stays in the file
    /// until something else is written there. The number of the newest row in clear says whether there was one since the
    /// last time.
    package func overwriteClearHeld() async throws(StoreError) {
        guard files != nil else { return }
        let result: Result<Void, SQLiteFailure> = await withCheckedContinuation { continuation in
            DispatchQueue.global().async { [connections] in
                continuation.resume(
                    returning: Result { () throws(SQLiteFailure) in
                        do {
                            try connections.writeWithoutTransaction { try Self.overwriteClearHeld(in: $0) }
                        } catch {
                            throw SQLiteFailure(error)
                        }
                    })
            }
        }
        do throws(SQLiteFailure) {
            try result.get()
        } catch {
            throw error.storeError
        }
    }

    private static func overwriteClearHeld(in database: Database) throws {
        let hasHad = "SELECT 1 FROM sqlite_sequence WHERE name = 'held_push' AND NOT EXISTS (SELECT 1 FROM held_push)"
        guard try Row.fetchOne(database, sql: hasHad) != nil else { return }
        try database.execute(sql: "VACUUM")
        try database.execute(sql: "DELETE FROM sqlite_sequence WHERE name = 'held_push'")
        try database.checkpoint(.truncate)
    }
}
