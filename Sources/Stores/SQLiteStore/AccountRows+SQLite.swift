import AccountTables
import Delivery
import GRDB
import Notifications
import SQLiteSupport

extension AccountRows {
    static func load(from database: Database) throws(SQLiteFailure) -> AccountsSnapshot {
        let version = UInt64(clamping: try SQLiteStore.meta(.accountsVersion, in: database))
        return try database.sql { try load(version: version, $0) }
    }

    /// Returns a number that no app has or had. Device tokens contain their app's number, so a number must never be
    /// used for a second app.
    static func nextAppID(in database: Database) throws(SQLiteFailure) -> AppID {
        let last = try database.firstRow("SELECT seq FROM sqlite_sequence WHERE name = 'app'", []) { $0.integer(0) }
        let (next, overflow) = (last ?? 0).addingReportingOverflow(1)
        guard !overflow, let id = UInt32(exactly: next) else {
            throw SQLiteFailure(code: .SQLITE_TOOBIG, message: "there are no numbers left for apps")
        }
        return AppID(rawValue: id)
    }
}
