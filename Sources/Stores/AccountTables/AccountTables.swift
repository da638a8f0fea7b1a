package import Delivery
import Notifications
package import SQLSupport

// The columns of the accounts and the invitations. Each property is read and written by what stands here, in both
// databases.

extension Team {
    static let table = Table<Team>(
        "team", Team.init,
        Column("id", type: .rawText(), \.id),
        Column("name", type: .anyText, \.name))
}

extension App {
    static let table = Table<App>(
        "app", App.init,
        Column("id", type: .appID, \.id),
        Column("bundle_id", type: .rawText(), \.bundleID),
        Column("team", type: .rawText(), \.team))
}

extension TeamKey {
    static let table = Table<TeamKey>(
        "signing_key", TeamKey.init,
        Column("id", type: .rawText(), \.id),
        Column("team", type: .rawText(), \.team),
        Column("public_key", type: .bytes, \.publicKey),
        Column("development", "production", type: .environments, \.environments),
        Column("bundle_ids", type: .optional(.bundleIDs), \.bundleIDs),
        Column("revoked", type: .optional(.moment), \.revoked))
}

extension TeamCertificate {
    static let table = Table<TeamCertificate>(
        "provider_certificate", TeamCertificate.init,
        Column("serial", type: .serial, \.serial),
        Column("team", type: .rawText(), \.team),
        Column("bundle_id", type: .rawText(), \.bundleID),
        Column("development", "production", type: .environments, \.environments),
        Column("valid_until", type: .moment, \.validUntil),
        Column("revoked", type: .optional(.moment), \.revoked))
}

extension AdministratorCertificate {
    static let table = Table<AdministratorCertificate>(
        "administrator_certificate", AdministratorCertificate.init,
        Column("serial", type: .serial, \.serial),
        Column("made", type: .optional(.moment), \.made),
        Column("valid_until", type: .moment, \.validUntil),
        Column("revoked", type: .optional(.moment), \.revoked))
}

/// A device that was revoked.
struct RevokedDevice: Sendable {
    let device: DeviceKey
    let revoked: Timestamp

    static let table = Table<RevokedDevice>(
        "revoked_device", RevokedDevice.init,
        Column("environment", "device", type: .deviceKey, \.device),
        Column("revoked", type: .moment, \.revoked))
}

extension Invitation {
    package static let table = Table<Invitation>(
        "invitation", Invitation.init,
        Column("digest", type: .bytes, \.digest),
        Column("environment", type: .environment, \.environment),
        Column("expires", type: .moment, \.expires))
}

// MARK: Types

extension ColumnType<AppID> {
    static let appID = mapping(.integer, to: { Int64($0.rawValue) }, from: { UInt32(exactly: $0).map(AppID.init) })
}

extension ColumnType<CertificateSerial> {
    static let serial = mapping(.bytes, to: { Array($0.bytes) }, from: { CertificateSerial(bytes: $0) })
}

extension ColumnType<Set<Environment>> {
    /// A column for each environment.
    static let environments = ColumnType(
        [.bool, .bool], values: { [.bool($0.contains(.development)), .bool($0.contains(.production))] },
        read: { row, column in
            guard let development = row.bool(column), let production = row.bool(column + 1) else { return nil }
            return Set((development ? [.development] : []) + (production ? [.production] : []))
        })
}

extension ColumnType<Set<BundleID>> {
    /// The bundle IDs with spaces between them.
    static let bundleIDs = mapping(.text, to: { $0.map(\.rawValue).sorted().joined(separator: " ") }) {
        let names = $0.split(separator: " ")
        let bundleIDs = Set(names.compactMap { BundleID(rawValue: String($0)) })
        // If a bundle ID cannot be read, fail: the key would be valid for other apps than it was made for.
        return bundleIDs.count == names.count ? bundleIDs : nil
    }
}

extension ColumnType<DeviceKey> {
    static let deviceKey = ColumnType(
        [.integer, .integer], values: { [.integer($0.environment.column), .integer($0.device.column)] },
        read: { row, column in
            guard let environment = row.integer(column).flatMap(Environment.init(column:)),
                let device = row.integer(column + 1)
            else { return nil }
            return DeviceKey(environment: environment, device: DeviceID(column: device))
        })
}
