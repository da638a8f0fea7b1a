import Foundation
import GRDB
import Notifications
import SQLiteSupport
package import Storage

extension SQLiteCampaignStore {
    private static let columns = "SELECT name, app, document, changed FROM audience"

    private static func audience(_ row: Row) -> SavedAudience {
        SavedAudience(
            name: row.text(0), app: row.integer(1), document: Array(row.blob(2)),
            changed: Timestamp(column: row.integer(3)))
    }

    package func audiences(app: Int64) async throws(StoreError) -> [SavedAudience] {
        try await read { database in
            try Row.fetchAll(database, sql: Self.columns + " WHERE app = ? ORDER BY name", arguments: [app])
                .map(Self.audience)
        }
    }

    package func audience(_ name: String, app: Int64) async throws(StoreError) -> SavedAudience? {
        try await read { database in
            try Row.fetchOne(database, sql: Self.columns + " WHERE app = ? AND name = ?", arguments: [app, name])
                .map(Self.audience)
        }
    }

    package func put(_ audience: SavedAudience, limit: Int) async throws(StoreError) -> Bool {
        try await write { database in
            try database.execute(
                sql: "UPDATE audience SET document = ?, changed = ? WHERE app = ? AND name = ?",
                arguments: [Data(audience.document), audience.changed.column, audience.app, audience.name])
            guard database.changesCount == 0 else { return false }
            let count = try Int.fetchOne(
                database, sql: "SELECT count(*) FROM audience WHERE app = ?", arguments: [audience.app])
            guard (count ?? 0) < limit else {
                throw StoreError(.conflict, "The app has \(limit) saved audiences already: delete one first.")
            }
            try database.execute(
                sql: "INSERT INTO audience (name, app, document, changed) VALUES (?, ?, ?, ?)",
                arguments: [audience.name, audience.app, Data(audience.document), audience.changed.column])
            return true
        }
    }

    package func deleteAudience(_ name: String, app: Int64) async throws(StoreError) -> Bool {
        try await write { database in
            try database.execute(sql: "DELETE FROM audience WHERE app = ? AND name = ?", arguments: [app, name])
            return database.changesCount > 0
        }
    }
}
