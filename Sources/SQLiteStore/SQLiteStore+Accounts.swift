package import Delivery
import GRDB
import Notifications

import struct Foundation.Data

extension SQLiteStore: Accounts {
    package var current: AccountsSnapshot { accounts.current }

    package func changes() -> AsyncStream<AccountsSnapshot> { accounts.changes() }

    package func apply(_ change: AccountChange, to version: UInt64) async throws(StoreError) -> AccountsSnapshot {
        let feed = accounts
        return try await commits.write(undoable: true) { database, _ throws(SQLiteFailure) -> Application in
            let present = UInt64(clamping: try Self.meta(.accountsVersion, in: database))
            guard present == version else {
                return .refused(
                    StoreError(.conflict, "The accounts were changed meanwhile: look at them and try again.")
                )
            }
            let application = try Self.apply(change, in: database)
            if case .applied = application {
                try Self.setMeta(.accountsVersion, to: Int64(clamping: present + 1), in: database)
            }
            return application
        } committed: { application -> Result<AccountsSnapshot, StoreError> in
            switch application {
            case .applied(let applied): .success(feed.update { $0.adding(applied) })
            case .unchanged: .success(feed.current)
            case .refused(let error): .failure(error)
            }
        }.get().get()
    }

    /// What became of a change.
    private enum Application: Sendable {
        case applied(AppliedChange)
        /// It was so already.
        case unchanged
        /// Nothing was written.
        case refused(StoreError)
    }
}

/// A change as it was written.
private enum AppliedChange: Sendable {
    case team(Team)
    case app(App)
    /// New, or changed.
    case key(TeamKey)
}

extension AccountsSnapshot {
    /// The next version.
    fileprivate func adding(_ change: AppliedChange) -> AccountsSnapshot {
        var teams = Array(teams.values)
        var apps = Array(apps.values)
        // The last one of an ID counts.
        var keys = Array(keys.values)
        switch change {
        case .team(let team): teams.append(team)
        case .app(let app): apps.append(app)
        case .key(let key): keys.append(key)
        }
        return AccountsSnapshot(version: version + 1, teams: teams, apps: apps, keys: keys)
    }
}

// MARK: - Rows

extension SQLiteStore {
    static func loadAccounts(from database: Database) throws(SQLiteFailure) -> AccountsSnapshot {
        AccountsSnapshot(
            version: UInt64(clamping: try meta(.accountsVersion, in: database)),
            teams: try rows("SELECT id, name FROM team", in: database) { $0.team() },
            apps: try rows("SELECT id, bundle_id, team FROM app", in: database) { $0.app() },
            keys: try rows("SELECT \(keyColumns) FROM signing_key", in: database) { $0.signingKey() },
        )
    }

    private static let keyColumns = "id, team, public_key, development, production, revoked"

    private static func apply(_ change: AccountChange, in database: Database) throws(SQLiteFailure) -> Application {
        switch change {
        case .createTeam(let team): try create(team, in: database)
        case .createApp(let bundleID, let team): try createApp(bundleID, of: team, in: database)
        case .createKey(let key): try create(key, in: database)
        case .revokeKey(let id, let moment): try revokeKey(id, at: moment, in: database)
        }
    }

    private static func create(_ team: Team, in database: Database) throws(SQLiteFailure) -> Application {
        guard try !exists("team", team.id.rawValue, in: database) else {
            return .refused(StoreError(.exists, "There is a team \(team.id) already."))
        }
        try database.run(
            "INSERT INTO team (id, name) VALUES (?, CAST(? AS TEXT))",
            [team.id.rawValue, Data(team.name.utf8)],
        )
        return .applied(.team(team))
    }

    private static func createApp(
        _ bundleID: BundleID,
        of team: TeamID,
        in database: Database,
    ) throws(SQLiteFailure) -> Application {
        guard try exists("team", team.rawValue, in: database) else { return .refused(.missing(team)) }
        guard try !exists("app", column: "bundle_id", bundleID.rawValue, in: database) else {
            return .refused(StoreError(.exists, "There is an app \(bundleID) already."))
        }
        try database.run("INSERT INTO app (bundle_id, team) VALUES (?, ?)", [bundleID.rawValue, team.rawValue])
        guard let id = UInt32(exactly: database.lastInsertedRowID) else {
            // Undoes the insertion.
            throw SQLiteFailure(code: .SQLITE_TOOBIG, message: "there are no numbers left for apps")
        }
        return .applied(.app(App(id: AppID(rawValue: id), bundleID: bundleID, team: team)))
    }

    private static func create(_ key: TeamKey, in database: Database) throws(SQLiteFailure) -> Application {
        guard try exists("team", key.team.rawValue, in: database) else { return .refused(.missing(key.team)) }
        guard try !exists("signing_key", key.id.rawValue, in: database) else {
            return .refused(StoreError(.exists, "There is a key \(key.id) already."))
        }
        try database.run(
            "INSERT INTO signing_key (\(keyColumns)) VALUES (?, ?, ?, ?, ?, ?)",
            [
                key.id.rawValue,
                key.team.rawValue,
                Data(key.publicKey),
                key.environments.contains(.development),
                key.environments.contains(.production),
                key.revoked?.column,
            ],
        )
        return .applied(.key(key))
    }

    private static func revokeKey(
        _ id: KeyID,
        at moment: Timestamp,
        in database: Database,
    ) throws(SQLiteFailure) -> Application {
        guard var key = try key(id, in: database) else {
            return .refused(StoreError(.missing, "There is no key \(id): list the keys that there are."))
        }
        guard key.revoked == nil else { return .unchanged }
        try database.run("UPDATE signing_key SET revoked = ? WHERE id = ?", [moment.column, id.rawValue])
        key.revoked = moment
        return .applied(.key(key))
    }

    private static func key(_ id: KeyID, in database: Database) throws(SQLiteFailure) -> TeamKey? {
        try database.firstRow(
            "SELECT \(keyColumns) FROM signing_key WHERE id = ?",
            [id.rawValue],
        ) { row throws(SQLiteFailure) in
            guard let key = row.signingKey() else { throw .damagedAccounts }
            return key
        }
    }

    private static func exists(
        _ table: String,
        column: String = "id",
        _ value: String,
        in database: Database,
    ) throws(SQLiteFailure) -> Bool {
        try database.firstRow("SELECT 1 FROM \(table) WHERE \(column) = ?", [value]) { _ in true } ?? false
    }

    private static func rows<Value>(
        _ sql: String,
        in database: Database,
        _ value: (Row) -> Value?,
    ) throws(SQLiteFailure) -> [Value] {
        var values: [Value] = []
        try database.forEachRow(sql) { row throws(SQLiteFailure) in
            guard let value = value(row) else { throw .damagedAccounts }
            values.append(value)
        }
        return values
    }
}

extension Row {
    fileprivate func team() -> Team? {
        TeamID(rawValue: text(0)).map { Team(id: $0, name: text(1)) }
    }

    fileprivate func app() -> App? {
        guard let id = UInt32(exactly: integer(0)), let bundleID = BundleID(rawValue: text(1)),
            let team = TeamID(rawValue: text(2))
        else { return nil }
        return App(id: AppID(rawValue: id), bundleID: bundleID, team: team)
    }

    fileprivate func signingKey() -> TeamKey? {
        guard let id = KeyID(rawValue: text(0)), let team = TeamID(rawValue: text(1)) else { return nil }
        var environments: Set<Environment> = []
        if integer(3) != 0 { environments.insert(.development) }
        if integer(4) != 0 { environments.insert(.production) }
        return TeamKey(
            id: id,
            team: team,
            publicKey: Array(blob(2)),
            environments: environments,
            revoked: hasNull(atIndex: 5) ? nil : Timestamp(column: integer(5)),
        )
    }
}

extension SQLiteFailure {
    fileprivate static let damagedAccounts = SQLiteFailure(code: .SQLITE_CORRUPT, message: "an account that cannot be")
}

extension StoreError {
    fileprivate static func missing(_ team: TeamID) -> StoreError {
        StoreError(.missing, "There is no team \(team): create it first.")
    }
}
