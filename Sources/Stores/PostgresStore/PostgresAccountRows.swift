import Delivery
import Notifications
import PostgresClient
import PostgresSupport

/// The accounts as rows: a reader reads all of them, and each change is written by itself.
enum PostgresAccountRows {
    static func load(_ transaction: PostgresTransaction) throws(PostgresError) -> AccountsSnapshot {
        let version = try transaction.execute("SELECT version FROM carillon.accounts").first?.integer(0)
        guard let version = version.flatMap(UInt64.init(exactly:)) else { throw .damaged("accounts") }
        let devices = try values(
            try transaction.execute(
                "SELECT device, environment, revoked FROM carillon.device WHERE revoked IS NOT NULL")
        ) { $0.revokedDevice() }
        return AccountsSnapshot(
            version: version,
            teams: try values(try transaction.execute("SELECT id, name FROM carillon.team")) { $0.team() },
            apps: try values(try transaction.execute("SELECT id, bundle_id, team FROM carillon.app")) { $0.app() },
            keys: try values(
                try transaction.execute(
                    """
                    SELECT id, team, public_key, development, production, revoked, bundle_ids
                    FROM carillon.signing_key
                    """)
            ) { $0.signingKey() },
            revokedKeys: try values(try transaction.execute("SELECT public_key FROM carillon.revoked_key")) {
                $0.bytes(0)
            },
            certificates: try values(
                try transaction.execute(
                    """
                    SELECT serial, team, bundle_id, development, production, valid_until, revoked
                    FROM carillon.provider_certificate
                    """)
            ) { $0.certificate() },
            revokedDevices: Dictionary(devices, uniquingKeysWith: { $1 }),
            administrators: try values(
                try transaction.execute(
                    "SELECT serial, made, valid_until, revoked FROM carillon.administrator_certificate")
            ) { $0.administrator() },
        )
    }

    private static func values<Value>(
        _ rows: PostgresRows,
        _ value: (PostgresRow) -> Value?,
    ) throws(PostgresError) -> [Value] {
        try rows.map { row throws(PostgresError) in
            guard let value = value(row) else { throw .damaged("an account") }
            return value
        }
    }

    /// Writes a change that the accounts' rules have allowed.
    static func write(
        _ change: AccountChange,
        from before: AccountsSnapshot,
        to after: AccountsSnapshot,
        appID: AppID,
        _ transaction: PostgresTransaction,
    ) throws(PostgresError) {
        switch change {
        case .createTeam(let team):
            try transaction.execute(
                "INSERT INTO carillon.team VALUES ($1, $2)", [.text(team.id.rawValue), .bytes(Array(team.name.utf8))])
        case .deleteTeam, .deleteApp:
            try writeRemovals(from: before, to: after, transaction)
        case .createApp(let bundleID, let team):
            try transaction.execute(
                "INSERT INTO carillon.app VALUES ($1, $2, $3)",
                [.integer(appID.column), .text(bundleID.rawValue), .text(team.rawValue)])
            try transaction.execute("UPDATE carillon.accounts SET last_app = $1", [.integer(appID.column)])
        case .createKey(let key):
            try insert(key, transaction)
        case .revokeKey(let id, let moment):
            try transaction.execute(
                "UPDATE carillon.signing_key SET revoked = $1 WHERE id = $2",
                [.integer(moment.column), .text(id.rawValue)])
        case .createCertificate(let certificate):
            try insert(certificate, transaction)
        case .revokeCertificate(let serial, let moment):
            try transaction.execute(
                "UPDATE carillon.provider_certificate SET revoked = $1 WHERE serial = $2",
                [.integer(moment.column), .bytes(Array(serial.bytes))])
        case .revokeDevice(let device, let moment):
            try transaction.execute(
                """
                INSERT INTO carillon.device (device, environment, revoked) VALUES ($1, $2, $3)
                ON CONFLICT (device, environment) DO UPDATE SET revoked = excluded.revoked
                """, device.values + [.integer(moment.column)])
        case .createAdministrator(let administrator, _):
            try write(administrator, from: before, to: after, transaction)
        case .revokeAdministrator(let serial, _), .revokeUnlistedAdministrator(let serial, _, _):
            guard let administrator = after.administrators[serial] else { break }
            try write(administrator, from: before, to: after, transaction)
        }
    }

    /// Writes an administrator's certificate, and removes those that are no longer listed.
    private static func write(
        _ administrator: AdministratorCertificate,
        from before: AccountsSnapshot,
        to after: AccountsSnapshot,
        _ transaction: PostgresTransaction,
    ) throws(PostgresError) {
        for serial in before.administrators.keys where after.administrators[serial] == nil {
            try transaction.execute(
                "DELETE FROM carillon.administrator_certificate WHERE serial = $1", [.bytes(serial.bytes)])
        }
        try transaction.execute(
            """
            INSERT INTO carillon.administrator_certificate VALUES ($1, $2, $3, $4)
            ON CONFLICT (serial) DO UPDATE SET revoked = excluded.revoked
            """,
            [
                .bytes(administrator.serial.bytes), .integer(administrator.made?.column),
                .integer(administrator.validUntil.column), .integer(administrator.revoked?.column),
            ])
    }

    /// Removes the rows of objects that are no longer in the accounts. What a deletion removes besides the object
    /// itself is decided by the accounts' rules, and not here.
    private static func writeRemovals(
        from before: AccountsSnapshot,
        to after: AccountsSnapshot,
        _ transaction: PostgresTransaction,
    ) throws(PostgresError) {
        for serial in before.certificates.keys where after.certificates[serial] == nil {
            try transaction.execute(
                "DELETE FROM carillon.provider_certificate WHERE serial = $1", [.bytes(Array(serial.bytes))])
        }
        for (id, key) in before.keys where after.keys[id] != key {
            guard let key = after.keys[id] else {
                try transaction.execute("DELETE FROM carillon.signing_key WHERE id = $1", [.text(id.rawValue)])
                if key.revoked != nil { try writeRevoked(key.publicKey, transaction) }
                continue
            }
            try transaction.execute(
                "UPDATE carillon.signing_key SET bundle_ids = $1 WHERE id = $2",
                [.text(column(key.bundleIDs)), .text(id.rawValue)])
        }
        for app in before.apps.values where after.app(app.id) == nil {
            try transaction.execute("DELETE FROM carillon.app WHERE id = $1", [.integer(app.id.column)])
            try transaction.execute("INSERT INTO carillon.deleted_app VALUES ($1)", [.integer(app.id.column)])
        }
        for id in before.teams.keys where after.teams[id] == nil {
            try transaction.execute("DELETE FROM carillon.team WHERE id = $1", [.text(id.rawValue)])
        }
    }

    /// Keeps the public half of a revoked key whose row is deleted.
    static func writeRevoked(_ publicKey: [UInt8], _ transaction: PostgresTransaction) throws(PostgresError) {
        try transaction.execute(
            "INSERT INTO carillon.revoked_key VALUES ($1) ON CONFLICT DO NOTHING", [.bytes(publicKey)])
    }

    private static func insert(_ key: TeamKey, _ transaction: PostgresTransaction) throws(PostgresError) {
        try transaction.execute(
            "INSERT INTO carillon.signing_key VALUES ($1, $2, $3, $4, $5, $6, $7)",
            [
                .text(key.id.rawValue), .text(key.team.rawValue), .bytes(Array(key.publicKey)),
                .bool(key.environments.contains(.development)), .bool(key.environments.contains(.production)),
                .integer(key.revoked?.column), .text(column(key.bundleIDs)),
            ])
    }

    private static func insert(
        _ certificate: TeamCertificate,
        _ transaction: PostgresTransaction,
    ) throws(PostgresError) {
        try transaction.execute(
            "INSERT INTO carillon.provider_certificate VALUES ($1, $2, $3, $4, $5, $6, $7)",
            [
                .bytes(Array(certificate.serial.bytes)), .text(certificate.team.rawValue),
                .text(certificate.bundleID.rawValue), .bool(certificate.environments.contains(.development)),
                .bool(certificate.environments.contains(.production)), .integer(certificate.validUntil.column),
                .integer(certificate.revoked?.column),
            ])
    }

    /// The value of the column `bundle_ids`: the bundle IDs with spaces between them, or NULL if the key is for all
    /// of the team's apps.
    private static func column(_ bundleIDs: Set<BundleID>?) -> String? {
        bundleIDs.map { $0.map(\.rawValue).sorted().joined(separator: " ") }
    }
}

extension PostgresRow {
    fileprivate func team() -> Team? {
        guard let id = text(0).flatMap(TeamID.init(rawValue:)), let name = text(1) else { return nil }
        return Team(id: id, name: name)
    }

    fileprivate func app() -> App? {
        guard let id = integer(0).flatMap(AppID.init(column:)),
            let bundleID = text(1).flatMap(BundleID.init(rawValue:)),
            let team = text(2).flatMap(TeamID.init(rawValue:))
        else { return nil }
        return App(id: id, bundleID: bundleID, team: team)
    }

    fileprivate func signingKey() -> TeamKey? {
        guard let id = text(0).flatMap(KeyID.init(rawValue:)), let team = text(1).flatMap(TeamID.init(rawValue:)),
            let publicKey = bytes(2), let environments = environments(development: 3, production: 4)
        else { return nil }
        var bundleIDs: Set<BundleID>?
        if let names = text(6)?.split(separator: " ") {
            bundleIDs = Set(names.compactMap { BundleID(rawValue: String($0)) })
            // A key for some apps only must not become a key for all apps because a bundle ID cannot be read.
            guard bundleIDs?.count == names.count else { return nil }
        }
        return TeamKey(
            id: id, team: team, publicKey: publicKey, environments: environments, bundleIDs: bundleIDs,
            revoked: moment(5))
    }

    fileprivate func certificate() -> TeamCertificate? {
        guard let serial = bytes(0).flatMap({ CertificateSerial(bytes: $0) }),
            let team = text(1).flatMap(TeamID.init(rawValue:)),
            let bundleID = text(2).flatMap(BundleID.init(rawValue:)),
            let environments = environments(development: 3, production: 4), let validUntil = moment(5)
        else { return nil }
        return TeamCertificate(
            serial: serial, team: team, bundleID: bundleID, environments: environments, validUntil: validUntil,
            revoked: moment(6))
    }

    fileprivate func administrator() -> AdministratorCertificate? {
        guard let serial = bytes(0).flatMap({ CertificateSerial(bytes: $0) }), let validUntil = moment(2) else {
            return nil
        }
        return AdministratorCertificate(serial: serial, made: moment(1), validUntil: validUntil, revoked: moment(3))
    }

    fileprivate func revokedDevice() -> (DeviceKey, Timestamp)? {
        guard let device = integer(0), let environment = integer(1).flatMap(Environment.init(column:)),
            let revoked = moment(2)
        else { return nil }
        return (DeviceKey(environment: environment, device: DeviceID(column: device)), revoked)
    }

    private func environments(development: Int, production: Int) -> Set<Environment>? {
        guard let isDevelopment = bool(development), let isProduction = bool(production) else { return nil }
        return Set((isDevelopment ? [.development] : []) + (isProduction ? [.production] : []))
    }
}
