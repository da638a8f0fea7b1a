import AccountTables
import Delivery
import Notifications
import PostgresClient
import PostgresSupport

extension AccountRows {
    static func load(_ transaction: PostgresTransaction) throws(PostgresError) -> AccountsSnapshot {
        let version = try transaction.execute("SELECT version FROM carillon.accounts").first?.integer(0)
        guard let version = version.flatMap(UInt64.init(exactly:)) else { throw .damaged("accounts") }
        return try transaction.sql { try load(version: version, $0) }
    }

    /// Writes a change that the accounts' rules have allowed, and the numbers of apps that must never be used again.
    static func write(
        _ change: AccountChange,
        from before: AccountsSnapshot,
        to after: AccountsSnapshot,
        appID: AppID,
        _ transaction: PostgresTransaction,
    ) throws(PostgresError) {
        try transaction.sql { try write(change, from: before, to: after, appID: appID, $0) }
        if case .createApps(let bundleIDs, let team) = change,
            let last = App.numbered(bundleIDs, of: team, from: appID).last?.id
        {
            try transaction.execute("UPDATE carillon.accounts SET last_app = $1", [.integer(last.column)])
        }
        for app in before.apps.values where after.app(app.id) == nil {
            try transaction.execute("INSERT INTO carillon.deleted_app VALUES ($1)", [.integer(app.id.column)])
        }
    }
}
