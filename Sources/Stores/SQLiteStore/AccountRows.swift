import Delivery
import Foundation
import GRDB
import Notifications
import SQLiteSupport

/// Stores the accounts in tables. They are read once at the start, and each change is written on its own.
enum AccountRows {
    static func load(from database: Database) throws(SQLiteFailure) -> AccountsSnapshot {
        let devices = try rows("SELECT environment, device, revoked FROM revoked_device", in: database) {
            $0.revokedDevice()
        }
        return AccountsSnapshot(
            version: UInt64(clamping: try SQLiteStore.meta(.accountsVersion, in: database)),
            teams: try rows("SELECT id, name FROM team", in: database) { $0.team() },
            apps: try rows("SELECT id, bundle_id, team FROM app", in: database) { $0.app() },
            keys: try rows("SELECT \(keyColumns) FROM signing_key", in: database) { $0.signingKey() },
            revokedKeys: try rows("SELECT public_key FROM revoked_key", in: database) { Array($0.blob(0)) },
            certificates: try rows("SELECT \(certificateColumns) FROM provider_certificate", in: database) {
                $0.certificate()
            },
            revokedDevices: Dictionary(devices, uniquingKeysWith: { $1 }),
            administrators: try rows("SELECT \(administratorColumns) FROM administrator_certificate", in: database) {
                $0.administrator()
            },
        )
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

    /// Writes a change that the accounts' rules have allowed.
    /// - Parameters:
    ///   - before: the accounts before the change.
    ///   - after: the accounts after it.
    static func write(
        _ change: AccountChange,
        from before: AccountsSnapshot,
        to after: AccountsSnapshot,
        appID: AppID,
        in database: Database,
    ) throws(SQLiteFailure) {
        switch change {
        case .createTeam(let team):
            try database.run(
                "INSERT INTO team (id, name) VALUES (?, CAST(? AS TEXT))", [team.id.rawValue, Data(team.name.utf8)])
        case .deleteTeam, .deleteApp:
            try writeRemovals(from: before, to: after, in: database)
        case .createApp(let bundleID, let team):
            try database.run(
                "INSERT INTO app (id, bundle_id, team) VALUES (?, ?, ?)",
                [appID.rawValue, bundleID.rawValue, team.rawValue])
        case .createKey(let key):
            try insert(key, into: database)
        case .revokeKey(let id, let moment):
            try database.run("UPDATE signing_key SET revoked = ? WHERE id = ?", [moment.column, id.rawValue])
        case .createCertificate(let certificate):
            try insert(certificate, into: database)
        case .revokeCertificate(let serial, let moment):
            try database.run(
                "UPDATE provider_certificate SET revoked = ? WHERE serial = ?", [moment.column, Data(serial.bytes)])
        case .revokeDevice(let device, let moment):
            try database.run(
                "INSERT INTO revoked_device (environment, device, revoked) VALUES (?, ?, ?)",
                device.arguments + [moment.column])
        case .createAdministrator(let administrator, _):
            try write(administrator, from: before, to: after, in: database)
        case .revokeAdministrator(let serial, _), .revokeUnlistedAdministrator(let serial, _, _):
            guard let administrator = after.administrators[serial] else { break }
            try write(administrator, from: before, to: after, in: database)
        }
    }

    /// Writes an administrator's certificate, and removes those that are no longer listed.
    private static func write(
        _ administrator: AdministratorCertificate,
        from before: AccountsSnapshot,
        to after: AccountsSnapshot,
        in database: Database,
    ) throws(SQLiteFailure) {
        for serial in before.administrators.keys where after.administrators[serial] == nil {
            try database.run("DELETE FROM administrator_certificate WHERE serial = ?", [Data(serial.bytes)])
        }
        try database.run(
            "INSERT OR REPLACE INTO administrator_certificate (\(administratorColumns)) VALUES (?, ?, ?, ?)",
            [
                Data(administrator.serial.bytes),
                administrator.made?.column,
                administrator.validUntil.column,
                administrator.revoked?.column,
            ],
        )
    }

    /// Removes the rows that are no longer in the accounts, in an order that keeps references valid. What a deletion
    /// removes was decided by the accounts' rules before.
    private static func writeRemovals(
        from before: AccountsSnapshot,
        to after: AccountsSnapshot,
        in database: Database,
    ) throws(SQLiteFailure) {
        for serial in before.certificates.keys where after.certificates[serial] == nil {
            try database.run("DELETE FROM provider_certificate WHERE serial = ?", [Data(serial.bytes)])
        }
        for (id, key) in before.keys where after.keys[id] != key {
            guard let key = after.keys[id] else {
                try database.run("DELETE FROM signing_key WHERE id = ?", [id.rawValue])
                if key.revoked != nil { try writeRevoked(key.publicKey, in: database) }
                continue
            }
            try database.run(
                "UPDATE signing_key SET bundle_ids = ? WHERE id = ?", [column(key.bundleIDs), id.rawValue])
        }
        for app in before.apps.values where after.app(app.id) == nil {
            try database.run("DELETE FROM app WHERE id = ?", [app.id.rawValue])
        }
        for id in before.teams.keys where after.teams[id] == nil {
            try database.run("DELETE FROM team WHERE id = ?", [id.rawValue])
        }
    }

    /// Keeps the public half of a revoked key whose row is deleted.
    static func writeRevoked(_ publicKey: [UInt8], in database: Database) throws(SQLiteFailure) {
        try database.run("INSERT OR IGNORE INTO revoked_key (public_key) VALUES (?)", [Data(publicKey)])
    }

    /// The value of the column `bundle_ids`.
    private static func column(_ bundleIDs: Set<BundleID>?) -> String? {
        bundleIDs.map { $0.map(\.rawValue).sorted().joined(separator: " ") }
    }

    private static let keyColumns = "id, team, public_key, development, production, revoked, bundle_ids"
    private static let certificateColumns = "serial, team, bundle_id, development, production, valid_until, revoked"
    private static let administratorColumns = "serial, made, valid_until, revoked"

    private static func insert(_ key: TeamKey, into database: Database) throws(SQLiteFailure) {
        try database.run(
            "INSERT INTO signing_key (\(keyColumns)) VALUES (?, ?, ?, ?, ?, ?, ?)",
            [
                key.id.rawValue,
                key.team.rawValue,
                Data(key.publicKey),
                key.environments.contains(.development),
                key.environments.contains(.production),
                key.revoked?.column,
                column(key.bundleIDs),
            ],
        )
    }

    private static func insert(_ certificate: TeamCertificate, into database: Database) throws(SQLiteFailure) {
        try database.run(
            "INSERT INTO provider_certificate (\(certificateColumns)) VALUES (?, ?, ?, ?, ?, ?, ?)",
            [
                Data(certificate.serial.bytes),
                certificate.team.rawValue,
                certificate.bundleID.rawValue,
                certificate.environments.contains(.development),
                certificate.environments.contains(.production),
                certificate.validUntil.column,
                certificate.revoked?.column,
            ],
        )
    }

    private static func rows<Value>(
        _ sql: String,
        in database: Database,
        _ value: (Row) -> Value?,
    ) throws(SQLiteFailure) -> [Value] {
        var values: [Value] = []
        try database.forEachRow(sql) { row throws(SQLiteFailure) in
            guard let value = value(row) else {
                throw SQLiteFailure(code: .SQLITE_CORRUPT, message: "an account that is not valid")
            }
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
        var bundleIDs: Set<BundleID>?
        if !hasNull(atIndex: 6) {
            let names = text(6).split(separator: " ")
            bundleIDs = Set(names.compactMap { BundleID(rawValue: String($0)) })
            // If the restriction cannot be read, fail: without it the key would be valid for all apps.
            guard bundleIDs?.count == names.count else { return nil }
        }
        return TeamKey(
            id: id,
            team: team,
            publicKey: Array(blob(2)),
            environments: environments(development: 3, production: 4),
            bundleIDs: bundleIDs,
            revoked: moment(5),
        )
    }

    fileprivate func certificate() -> TeamCertificate? {
        guard let serial = CertificateSerial(bytes: blob(0)), let team = TeamID(rawValue: text(1)),
            let bundleID = BundleID(rawValue: text(2)), let validUntil = moment(5)
        else { return nil }
        return TeamCertificate(
            serial: serial,
            team: team,
            bundleID: bundleID,
            environments: environments(development: 3, production: 4),
            validUntil: validUntil,
            revoked: moment(6),
        )
    }

    fileprivate func revokedDevice() -> (DeviceKey, Timestamp)? {
        guard let environment = Environment(column: integer(0)), let moment = moment(2) else { return nil }
        return (DeviceKey(environment: environment, device: DeviceID(column: integer(1))), moment)
    }

    fileprivate func administrator() -> AdministratorCertificate? {
        guard let serial = CertificateSerial(bytes: blob(0)), let validUntil = moment(2) else { return nil }
        return AdministratorCertificate(serial: serial, made: moment(1), validUntil: validUntil, revoked: moment(3))
    }

    private func environments(development: Int, production: Int) -> Set<Environment> {
        var environments: Set<Environment> = []
        if integer(development) != 0 { environments.insert(.development) }
        if integer(production) != 0 { environments.insert(.production) }
        return environments
    }

    private func moment(_ column: Int) -> Timestamp? {
        hasNull(atIndex: column) ? nil : Timestamp(column: integer(column))
    }
}
