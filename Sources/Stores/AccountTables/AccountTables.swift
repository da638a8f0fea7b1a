import Delivery
import Notifications
import SQLSupport

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
        Column("team", type: .rawText(), \.team),
        Column("broadcasts", type: .bool, \.hasBroadcasts),
        Column("keep", type: .smallNumber, \.keep))
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

extension AppUpstream {
    static let table = Table<AppUpstream>(
        "upstream", AppUpstream.init,
        Column("bundle_id", "environment", type: .upstreamPlace, \.place),
        Column("url", type: .anyText, \.url),
        Column("authority", type: .optional(.anyText), \.authority),
        Column("kind", "team", "key_id", type: .upstreamCredentials, \.credentials),
        Column("credentials", type: .bytes, \.sealedCredentials),
        Column("proxy", type: .optional(.anyText), \.proxy),
        Column("hold", type: .milliseconds, \.hold),
        Column("captures", type: .bool, \.captures),
        Column("compares", type: .bool, \.compares))
}

extension AppWebPush {
    static let table = Table<AppWebPush>(
        "web_push_app", AppWebPush.init,
        Column("bundle_id", "environment", type: .upstreamPlace, \.place),
        Column("template", type: .webPushTemplate, \.template),
        Column("relay_to", type: .bool, \.relaysTo),
        Column("plain", type: .bool, \.isPlain))
}

extension Grant {
    static let table = Table<Grant>(
        "gateway_grant",
        Grant.init(id:bundleID:team:name:key:publicKey:clientKey:limits:isSuspended:made:revoked:keys:),
        Column("id", type: .rawText(), \.id),
        Column("bundle_id", type: .rawText(), \.bundleID),
        Column("team", type: .rawText(), \.team),
        Column("name", type: .anyText, \.name),
        Column("key_id", type: .rawText(), \.key),
        Column("public_key", type: .bytes, \.publicKey),
        Column("client_key", type: .text, \.clientKey),
        Column("limits", type: .json(), \.limits),
        Column("suspended", type: .bool, \.isSuspended),
        Column("made", type: .moment, \.made),
        Column("revoked", type: .optional(.moment), \.revoked),
        Column("keys", type: .optional(.json()), \.storedKeys))
}

extension StoredHandle {
    static let table = Table<StoredHandle>(
        "handle", StoredHandle.init,
        Column("handle", type: .handle, \.handle),
        Column("grant_id", type: .rawText(), \.grant),
        Column("app", type: .appID, \.app),
        Column("environment", type: .environment, \.environment),
        Column("token", type: .bytes, \.token),
        Column("registered", type: .moment, \.registered),
        Column("made", type: .optional(.moment), \.firstRegistered),
        Column("ended_reason", "ended", "ended_noted", type: .optional(.handleEnd), \.end))
}

extension HandleEndpoint {
    static let table = Table<HandleEndpoint>(
        "handle_endpoint", HandleEndpoint.init,
        Column("handle", type: .handle, \.handle),
        Column("name", type: .anyText, \.name),
        Column("seed", type: .bytes, \.seed),
        Column("digest", type: .bytes, \.digest),
        Column("vapid", type: .optional(.bytes), \.vapid))
}

extension KeptBody {
    static let table = Table<KeptBody>(
        "web_push_body",
        { digest, owner, _, body, expires, isFetched in
            KeptBody(digest: digest, owner: owner, body: body, expires: expires, isFetched: isFetched)
        },
        Column("digest", type: .bytes, \.digest),
        Column("owner", type: .bytes, \.owner),
        Column("bytes", type: .smallNumber, \.body.count),
        Column("body", type: .bytes, \.body),
        Column("expires", type: .moment, \.expires),
        Column("fetched", type: .bool, \.isFetched))
}

extension GrantInvitation {
    static let table = Table<GrantInvitation>(
        "grant_invitation", GrantInvitation.init,
        Column("digest", type: .bytes, \.digest),
        Column("bundle_id", type: .rawText(), \.bundleID),
        Column("name", type: .anyText, \.name),
        Column("limits", type: .json(), \.limits),
        Column("expires", type: .moment, \.expires))
}

extension UsedGrantInvitation {
    static let table = Table<UsedGrantInvitation>(
        "used_grant_invitation",
        { digest, bundleID, name, limits, expires, key, grant in
            UsedGrantInvitation(
                invitation: GrantInvitation(
                    digest: digest, bundleID: bundleID, name: name, limits: limits, expires: expires),
                key: key, grant: grant)
        },
        Column("digest", type: .bytes, \.invitation.digest),
        Column("bundle_id", type: .rawText(), \.invitation.bundleID),
        Column("name", type: .anyText, \.invitation.name),
        Column("limits", type: .json(), \.invitation.limits),
        Column("expires", type: .moment, \.invitation.expires),
        Column("public_key", type: .bytes, \.key),
        Column("grant_id", type: .rawText(), \.grant))
}

extension UsedCode {
    static let table = Table<UsedCode>(
        "grant_code", { grant, digest, expires in UsedCode(grant: grant, digest: digest, expires: expires) },
        Column("grant_id", type: .rawText(), \.grant),
        Column("digest", type: .bytes, \.digest),
        Column("expires", type: .moment, \.expires))
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
    static let table = Table<Invitation>(
        "invitation", Invitation.init,
        Column("digest", type: .bytes, \.digest),
        Column("environment", type: .environment, \.environment),
        Column("expires", type: .moment, \.expires))
}

extension UsedInvitation {
    static let table = Table<UsedInvitation>(
        "used_invitation",
        { digest, environment, expires, key, device, chain in
            UsedInvitation(
                invitation: Invitation(digest: digest, environment: environment, expires: expires),
                activation: Activation(key: key, device: device, chain: chain))
        },
        Column("digest", type: .bytes, \.invitation.digest),
        Column("environment", type: .environment, \.invitation.environment),
        Column("expires", type: .moment, \.invitation.expires),
        Column("key", type: .bytes, \.activation.key),
        Column("device", type: .deviceID, \.activation.device),
        Column("chain", type: .anyText, \.activation.chain))
}

// MARK: Types

extension ColumnType<AppID> {
    // fits: 32 bits
    static let appID = mapping(.integer, to: { Int64($0.rawValue) }, from: { UInt32(exactly: $0).map(AppID.init) })
}

extension ColumnType<Int> {
    static let smallNumber = mapping(.integer, to: { Int64(clamping: $0) }, from: { Int(exactly: $0) })
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

extension ColumnType<DeviceID> {
    static let deviceID = mapping(.integer, to: \.column, from: { DeviceID(column: $0) })
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

extension ColumnType<UpstreamPlace> {
    static let upstreamPlace = ColumnType(
        [.text, .integer], values: { [.text($0.bundleID.rawValue), .integer($0.environment.column)] },
        read: { row, column in
            guard let bundleID = row.text(column).flatMap(BundleID.init(rawValue:)),
                let environment = row.integer(column + 1).flatMap(Environment.init(column:))
            else { return nil }
            return UpstreamPlace(bundleID: bundleID, environment: environment)
        })
}

extension ColumnType<AppUpstream.Credentials> {
    /// The kind, and the team and the key's identifier of a key. Never give a kind's number another meaning.
    static let upstreamCredentials = ColumnType(
        [.integer, .text, .text],
        values: { credentials in
            switch credentials {
            case .key(let team, let key): [.integer(0), .text(team.rawValue), .text(key.rawValue)]
            case .certificate: [.integer(1), .text(""), .text("")]
            case .passthrough: [.integer(2), .text(""), .text("")]
            }
        },
        read: { row, column in
            switch row.integer(column) {
            case 0:
                guard let team = row.text(column + 1).flatMap(TeamID.init(rawValue:)),
                    let key = row.text(column + 2).flatMap(KeyID.init(rawValue:))
                else { return nil }
                return .key(team: team, key: key)
            case 1: return .certificate
            case 2: return .passthrough
            default: return nil
            }
        })
}

extension ColumnType<WebPushTemplate> {
    static let webPushTemplate = mapping(
        .bytes, to: { Array($0.document.text.utf8) }, from: { try? WebPushTemplate(text: $0) })
}

extension ColumnType<UInt64> {
    static let milliseconds = mapping(.integer, to: { Int64(clamping: $0) }, from: { UInt64(exactly: $0) })
}

extension ColumnType<Handle> {
    static let handle = mapping(.bytes, to: \.bytes, from: { Handle($0) })
}

extension ColumnType<HandleEnd> {
    static let handleEnd = ColumnType(
        [.text, .integer, .integer],
        values: { [.text($0.reason.rawValue), .integer($0.moment.column), .integer($0.noted.column)] },
        read: { row, column in
            guard let reason = row.text(column).flatMap(Rejection.Reason.init(rawValue:)),
                let moment = row.integer(column + 1)
            else { return nil }
            // A node of an earlier release does not write the last column.
            return HandleEnd(
                reason: reason, moment: Timestamp(column: moment),
                noted: row.integer(column + 2).map(Timestamp.init(column:)))
        })
}
