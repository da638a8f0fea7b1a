package import Delivery
package import Notifications
package import SQLSupport

/// Stores the accounts in tables. All rows are read together, and each change is written on its own.
package enum AccountRows {
    /// The table with the revoked devices, and which of its rows are revoked.
    private static let devices = SQLStatement.either(sqlite: "revoked_device", postgresql: "device")
    private static let areRevoked = SQLStatement.either(sqlite: "", postgresql: "WHERE revoked IS NOT NULL")

    /// - Parameter version: the version of the accounts, which the store has read in the same transaction.
    package static func load(version: UInt64, _ transaction: any SQLTransaction) throws -> AccountsSnapshot {
        func rows<Row>(_ table: Table<Row>) throws -> [Row] {
            try transaction.rows("SELECT \(table.columns(of: "t")) FROM \(.sql(table.name)) t") { try table.row($0) }
        }
        let revoked = try transaction.rows(
            "SELECT \(RevokedDevice.table.columns(of: "t")) FROM \(devices) t \(areRevoked)"
        ) { try RevokedDevice.table.row($0) }
        return AccountsSnapshot(
            version: version, teams: try rows(Team.table), apps: try rows(App.table), keys: try rows(TeamKey.table),
            revokedKeys: try transaction.rows("SELECT public_key FROM revoked_key") { $0.bytes(0) ?? [] },
            certificates: try rows(TeamCertificate.table),
            revokedDevices: Dictionary(revoked.map { ($0.device, $0.revoked) }, uniquingKeysWith: { $1 }),
            administrators: try rows(AdministratorCertificate.table), upstreams: try rows(AppUpstream.table),
            webPush: try rows(AppWebPush.table), grants: try rows(Grant.table))
    }

    /// Writes all accounts of another store, except for the version and the number of the newest app, which each database
    /// keeps in its own way.
    package static func write(_ accounts: CopiedAccounts, _ transaction: any SQLTransaction) throws {
        let snapshot = accounts.snapshot
        func write(_ change: AccountChange, _ appID: AppID = accounts.lastApp) throws {
            try Self.write(change, from: snapshot, to: snapshot, appID: appID, transaction)
        }
        for team in snapshot.teams.values { try write(.createTeam(team)) }
        for app in snapshot.apps.values {
            try write(.createApp(bundleID: app.bundleID, team: app.team), app.id)
            // Writes all of it.
            try write(.setBroadcasts(app.bundleID, app.hasBroadcasts))
        }
        for key in snapshot.keys.values { try write(.createKey(key)) }
        for key in snapshot.revokedKeys { try writeRevoked(key, transaction) }
        for certificate in snapshot.certificates.values { try write(.createCertificate(certificate)) }
        for (device, moment) in snapshot.revokedDevices { try write(.revokeDevice(device, at: moment)) }
        for upstream in snapshot.upstreams.values { try write(.setUpstream(upstream)) }
        for settings in snapshot.webPush.values { try write(.setWebPush(settings)) }
        for grant in snapshot.grants.values { try write(.createGrant(grant)) }
        for administrator in snapshot.administrators.values {
            // The moment is not stored.
            try write(.createAdministrator(administrator, at: Timestamp(milliseconds: 0)))
        }
    }

    /// Writes a change that the accounts' rules have allowed.
    /// - Parameters:
    ///   - before: the accounts before the change.
    ///   - after: the accounts after it.
    package static func write(
        _ change: AccountChange,
        from before: AccountsSnapshot,
        to after: AccountsSnapshot,
        appID: AppID,
        _ transaction: any SQLTransaction,
    ) throws {
        switch change {
        case .createTeam(let team): try insert(team, Team.table, transaction)
        case .deleteTeam, .deleteApp, .removeRevokedGrants: try writeRemovals(from: before, to: after, transaction)
        case .createApps(let bundleIDs, let team):
            for app in App.numbered(bundleIDs, of: team, from: appID) { try insert(app, App.table, transaction) }
        case .setBroadcasts(let bundleID, _), .setKeep(let bundleID, _):
            try update(after.apps[bundleID], transaction)
        case .createKey(let key): try insert(key, TeamKey.table, transaction)
        case .revokeKey, .revokeGrant:
            // Keys and grants that have the same public key are revoked together.
            let keys = after.keys.values.filter { before.keys[$0.id] != $0 }
            for key in keys { try update(key, transaction) }
            var grants = Set(keys.compactMap { after.grant(withPublicKey: $0.publicKey)?.id })
            if case .revokeGrant(let id, _) = change { grants.insert(id) }
            for id in grants { try update(after.grants[id], transaction) }
        case .createCertificate(let certificate): try insert(certificate, TeamCertificate.table, transaction)
        case .revokeCertificate(let serial, let moment):
            try transaction.run(
                "UPDATE provider_certificate SET revoked = \(moment.column) WHERE serial = \(Array(serial.bytes))")
        case .revokeDevice(let device, let moment):
            let table = RevokedDevice.table
            try transaction.run(
                """
                INSERT INTO \(devices) (\(table.list)) VALUES (\(table.values(.init(device: device, revoked: moment))))
                ON CONFLICT (device, environment) DO UPDATE SET revoked = excluded.revoked
                """)
        case .createAdministrator(let administrator, _):
            try write(administrator, from: before, to: after, transaction)
        case .revokeAdministrator(let serial, _), .revokeUnlistedAdministrator(let serial, _, _):
            guard let administrator = after.administrators[serial] else { break }
            try write(administrator, from: before, to: after, transaction)
        case .setUpstream(let upstream):
            let table = AppUpstream.table
            try transaction.run(
                """
                INSERT INTO upstream (\(table.list)) VALUES (\(table.values(upstream)))
                ON CONFLICT (bundle_id, environment) DO UPDATE SET \(table.replacements())
                """)
            let bundleID = upstream.place.bundleID
            if after.apps[bundleID] != before.apps[bundleID] { try update(after.apps[bundleID], transaction) }
        case .removeUpstream(let place): try remove(place, from: AppUpstream.table, transaction)
        case .setWebPush(let settings):
            let table = AppWebPush.table
            try transaction.run(
                """
                INSERT INTO web_push_app (\(table.list)) VALUES (\(table.values(settings)))
                ON CONFLICT (bundle_id, environment) DO UPDATE SET \(table.replacements())
                """)
        case .removeWebPush(let place): try remove(place, from: AppWebPush.table, transaction)
        case .createGrant(let grant, _): try insert(grant, Grant.table, transaction)
        case .changeGrant(let grant): try update(after.grants[grant.id], transaction)
        case .addGrantKey(let id, _), .addGrantClientKey(let id, _): try update(after.grants[id], transaction)
        case .endGrantKey(let id, let key):
            if let ended = before.grants[id]?.providerKey(key) { try writeRevoked(ended.publicKey, transaction) }
            try update(after.grants[id], transaction)
        }
    }

    private static func remove<Row>(
        _ place: UpstreamPlace, from table: Table<Row>, _ transaction: any SQLTransaction
    ) throws {
        try transaction.run(
            """
            DELETE FROM \(.sql(table.name))
            WHERE bundle_id = \(place.bundleID.rawValue) AND environment = \(place.environment.column)
            """)
    }

    private static func update(_ app: App?, _ transaction: any SQLTransaction) throws {
        guard let app else { return }
        let changes = try App.table.assignments(app, except: ["id"])
        try transaction.run("UPDATE app SET \(changes) WHERE bundle_id = \(app.bundleID.rawValue)")
    }

    private static func update(_ key: TeamKey, _ transaction: any SQLTransaction) throws {
        let changes = try TeamKey.table.assignments(key)
        try transaction.run("UPDATE signing_key SET \(changes) WHERE id = \(key.id.rawValue)")
    }

    private static func update(_ grant: Grant?, _ transaction: any SQLTransaction) throws {
        guard let grant else { return }
        let changes = try Grant.table.assignments(grant, except: ["id"])
        try transaction.run("UPDATE gateway_grant SET \(changes) WHERE id = \(grant.id.rawValue)")
    }

    private static func insert<Row>(_ row: Row, _ table: Table<Row>, _ transaction: any SQLTransaction) throws {
        try transaction.run("INSERT INTO \(.sql(table.name)) (\(table.list)) VALUES (\(table.values(row)))")
    }

    /// Writes an administrator's certificate, and removes those that are no longer listed.
    private static func write(
        _ administrator: AdministratorCertificate,
        from before: AccountsSnapshot,
        to after: AccountsSnapshot,
        _ transaction: any SQLTransaction,
    ) throws {
        for serial in before.administrators.keys where after.administrators[serial] == nil {
            try transaction.run("DELETE FROM administrator_certificate WHERE serial = \(Array(serial.bytes))")
        }
        let table = AdministratorCertificate.table
        try transaction.run(
            """
            INSERT INTO administrator_certificate (\(table.list)) VALUES (\(table.values(administrator)))
            ON CONFLICT (serial) DO UPDATE SET \(table.replacements())
            """)
    }

    /// Removes the rows that are no longer in the accounts, in an order that keeps references valid. What a deletion
    /// removes was decided by the accounts' rules before.
    private static func writeRemovals(
        from before: AccountsSnapshot,
        to after: AccountsSnapshot,
        _ transaction: any SQLTransaction,
    ) throws {
        for serial in before.certificates.keys where after.certificates[serial] == nil {
            try transaction.run("DELETE FROM provider_certificate WHERE serial = \(Array(serial.bytes))")
        }
        for (id, key) in before.keys where after.keys[id] != key {
            if let key = after.keys[id] {
                try update(key, transaction)
            } else {
                try transaction.run("DELETE FROM signing_key WHERE id = \(id.rawValue)")
                if key.revoked != nil { try writeRevoked(key.publicKey, transaction) }
            }
        }
        for place in before.upstreams.keys where after.upstreams[place] == nil {
            try remove(place, from: AppUpstream.table, transaction)
        }
        for place in before.webPush.keys where after.webPush[place] == nil {
            try remove(place, from: AppWebPush.table, transaction)
        }
        for grant in before.grants.values where after.grants[grant.id] == nil {
            for table in ["gateway_grant", "grant_day", "grant_answer"] {
                let column = table == "gateway_grant" ? "id" : "grant_id"
                try transaction.run("DELETE FROM \(.sql(table)) WHERE \(.sql(column)) = \(grant.id.rawValue)")
            }
            guard grant.revoked != nil else { continue }
            for key in grant.providerKeys.all { try writeRevoked(key.publicKey, transaction) }
        }
        for app in before.apps.values where after.app(app.id) == nil {
            try transaction.run("DELETE FROM app WHERE id = \(Int64(app.id.rawValue))")  // fits: 32 bits
        }
        for id in before.teams.keys where after.teams[id] == nil {
            try transaction.run("DELETE FROM team WHERE id = \(id.rawValue)")
        }
    }

    /// Keeps the public half of a revoked key whose row is deleted.
    private static func writeRevoked(_ publicKey: [UInt8], _ transaction: any SQLTransaction) throws {
        try transaction.run("INSERT INTO revoked_key (public_key) VALUES (\(publicKey)) ON CONFLICT DO NOTHING")
    }
}
