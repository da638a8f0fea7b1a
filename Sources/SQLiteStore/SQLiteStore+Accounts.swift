package import Delivery
import GRDB
import Notifications

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
        var statement = try PreparedStatement("INSERT INTO team (id, name) VALUES (?1, ?2)", in: database)
        statement.bind(team.id.rawValue, at: 1)
        statement.bind(team.name, at: 2)
        try statement.run()
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
        var statement = try PreparedStatement(
            "INSERT INTO app (bundle_id, team) VALUES (?1, ?2) RETURNING id",
            in: database,
        )
        statement.bind(bundleID.rawValue, at: 1)
        statement.bind(team.rawValue, at: 2)
        guard try statement.next(), let id = UInt32(exactly: statement.integer(0)) else {
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
        var statement = try PreparedStatement(
            "INSERT INTO signing_key (\(keyColumns)) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
            in: database,
        )
        statement.bind(key.id.rawValue, at: 1)
        statement.bind(key.team.rawValue, at: 2)
        statement.bind(key.publicKey, at: 3)
        statement.bind(key.environments.contains(.development) ? 1 : 0, at: 4)
        statement.bind(key.environments.contains(.production) ? 1 : 0, at: 5)
        if let revoked = key.revoked { statement.bind(revoked.column, at: 6) } else { statement.bindNull(at: 6) }
        try statement.run()
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
        var statement = try PreparedStatement("UPDATE signing_key SET revoked = ?2 WHERE id = ?1", in: database)
        statement.bind(id.rawValue, at: 1)
        statement.bind(moment.column, at: 2)
        try statement.run()
        key.revoked = moment
        return .applied(.key(key))
    }

    private static func key(_ id: KeyID, in database: Database) throws(SQLiteFailure) -> TeamKey? {
        var statement = try PreparedStatement("SELECT \(keyColumns) FROM signing_key WHERE id = ?1", in: database)
        statement.bind(id.rawValue, at: 1)
        guard try statement.next() else { return nil }
        guard let key = statement.signingKey() else { throw .damagedAccounts }
        return key
    }

    private static func exists(
        _ table: String,
        column: String = "id",
        _ value: String,
        in database: Database,
    ) throws(SQLiteFailure) -> Bool {
        var statement = try PreparedStatement("SELECT 1 FROM \(table) WHERE \(column) = ?1", in: database)
        statement.bind(value, at: 1)
        return try statement.next()
    }

    private static func rows<Value>(
        _ sql: String,
        in database: Database,
        _ row: (borrowing PreparedStatement) -> Value?,
    ) throws(SQLiteFailure) -> [Value] {
        var statement = try PreparedStatement(sql, in: database)
        var values: [Value] = []
        while try statement.next() {
            guard let value = row(statement) else { throw .damagedAccounts }
            values.append(value)
        }
        return values
    }
}

extension PreparedStatement {
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
            publicKey: blob(2),
            environments: environments,
            revoked: isNull(5) ? nil : Timestamp(column: integer(5)),
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
