package import Notifications

/// The accounts at one version.
///
/// It is a single reference, because it is handed to every batch of requests and every device line.
package struct AccountsSnapshot: Sendable, Hashable {
    private var box: Box

    /// The contents. They never change after the snapshot was given to anybody else.
    private final class Box: Sendable {
        let contents: Contents
        init(_ contents: Contents) { self.contents = contents }
    }

    private struct Contents: Sendable, Hashable {
        var version: UInt64 = 0
        var teams: [TeamID: Team] = [:]
        var apps: [BundleID: App] = [:]
        var keys: [KeyID: TeamKey] = [:]
        var revokedKeys: Set<[UInt8]> = []
        var certificates: [CertificateSerial: TeamCertificate] = [:]
        var revokedDevices: [DeviceKey: Timestamp] = [:]
        var administrators: [CertificateSerial: AdministratorCertificate] = [:]
        var upstreams: [UpstreamPlace: AppUpstream] = [:]
        var webPush: [UpstreamPlace: AppWebPush] = [:] {
            didSet {
                let relaying = webPush.values.filter(\.relaysTo).map { ($0.place.environment, $0) }
                relays = Dictionary(relaying, uniquingKeysWith: { $1 })
            }
        }
        /// The app of each environment that has the relay's URL.
        private(set) var relays: [Environment: AppWebPush] = [:]
        var grants = GrantTable()
        var appsByID: [AppID: App] = [:]
        /// The apps that keep more than one notification.
        var keeping: [AppID: Int] = [:]

        private mutating func removeGrants(of bundleID: BundleID) {
            for grant in Array(grants.values) where grant.bundleID == bundleID { grants.remove(grant.id) }
        }

        mutating func insert(_ app: App) {
            apps[app.bundleID] = app
            appsByID[app.id] = app
            keeping[app.id] = app.keep > 1 ? app.keep : nil
        }

        mutating func remove(_ app: App) {
            apps[app.bundleID] = nil
            appsByID[app.id] = nil
            keeping[app.id] = nil
            certificates = certificates.filter { $0.value.bundleID != app.bundleID }
            if !upstreams.isEmpty { upstreams = upstreams.filter { $0.key.bundleID != app.bundleID } }
            if !webPush.isEmpty { webPush = webPush.filter { $0.key.bundleID != app.bundleID } }
            removeGrants(of: app.bundleID)
            for (id, key) in keys {
                guard var bundleIDs = key.bundleIDs, bundleIDs.remove(app.bundleID) != nil else { continue }
                // A key without a restriction would be valid for all apps, so remove a key that loses its last app.
                if bundleIDs.isEmpty { keys[id] = nil } else { keys[id]?.bundleIDs = bundleIDs }
            }
        }

        mutating func remove(_ team: TeamID) {
            for app in apps.values where app.team == team { remove(app) }
            keys = keys.filter { $0.value.team != team }
            certificates = certificates.filter { $0.value.team != team }
            teams[team] = nil
        }
    }

    /// Creates empty accounts.
    package init() { box = Box(Contents()) }

    package init(
        version: UInt64,
        teams: [Team] = [],
        apps: [App] = [],
        keys: [TeamKey] = [],
        revokedKeys: [[UInt8]] = [],
        certificates: [TeamCertificate] = [],
        revokedDevices: [DeviceKey: Timestamp] = [:],
        administrators: [AdministratorCertificate] = [],
        upstreams: [AppUpstream] = [],
        webPush: [AppWebPush] = [],
        grants: [Grant] = [],
    ) {
        var contents = Contents()
        contents.version = version
        contents.teams = Dictionary(teams.map { ($0.id, $0) }, uniquingKeysWith: { $1 })
        // Earlier releases did not compare public keys, and left a revoked one in use under another identifier.
        var revocations = Dictionary(revokedKeys.map { ($0, Timestamp(milliseconds: 0)) }, uniquingKeysWith: { $1 })
        for key in keys { if let moment = key.revoked { revocations[key.publicKey] = moment } }
        for grant in grants {
            guard let moment = grant.revoked else { continue }
            for key in grant.providerKeys.all { revocations[key.publicKey] = moment }
        }
        contents.revokedKeys = Set(revocations.keys)
        for var key in keys {
            key.revoked = key.revoked ?? revocations[key.publicKey]
            contents.keys[key.id] = key
        }
        contents.certificates = Dictionary(certificates.map { ($0.serial, $0) }, uniquingKeysWith: { $1 })
        contents.revokedDevices = revokedDevices
        contents.administrators = Dictionary(administrators.map { ($0.serial, $0) }, uniquingKeysWith: { $1 })
        contents.upstreams = Dictionary(upstreams.map { ($0.place, $0) }, uniquingKeysWith: { $1 })
        for app in apps { contents.insert(app) }
        // A node of an earlier release leaves the grants and the settings of Web Push of an app that it deletes.
        let settings = webPush.filter { contents.apps[$0.place.bundleID] != nil }
        contents.webPush = Dictionary(settings.map { ($0.place, $0) }, uniquingKeysWith: { $1 })
        contents.grants = GrantTable(version: version)
        for var grant in grants where contents.apps[grant.bundleID] != nil {
            for key in grant.providerKeys.all { grant.revoked = grant.revoked ?? revocations[key.publicKey] }
            contents.grants.set(grant)
        }
        box = Box(contents)
    }

    package static func == (left: AccountsSnapshot, right: AccountsSnapshot) -> Bool {
        left.box === right.box || left.box.contents == right.box.contents
    }

    package func hash(into hasher: inout Hasher) { hasher.combine(box.contents) }

    private mutating func change(_ change: (inout Contents) -> Void) {
        var contents = box.contents
        change(&contents)
        box = Box(contents)
    }
}

extension AccountsSnapshot {
    /// The version, which grows with every change.
    package var version: UInt64 { box.contents.version }

    package internal(set) var teams: [TeamID: Team] {
        get { box.contents.teams }
        set { change { $0.teams = newValue } }
    }

    package var apps: [BundleID: App] { box.contents.apps }

    package internal(set) var keys: [KeyID: TeamKey] {
        get { box.contents.keys }
        set { change { $0.keys = newValue } }
    }

    /// The public keys of all keys that were revoked, also of those that were deleted since with their team or app.
    package internal(set) var revokedKeys: Set<[UInt8]> {
        get { box.contents.revokedKeys }
        set { change { $0.revokedKeys = newValue } }
    }

    package internal(set) var certificates: [CertificateSerial: TeamCertificate] {
        get { box.contents.certificates }
        set { change { $0.certificates = newValue } }
    }

    /// The devices that were revoked, with the time of the revocation.
    package internal(set) var revokedDevices: [DeviceKey: Timestamp] {
        get { box.contents.revokedDevices }
        set { change { $0.revokedDevices = newValue } }
    }

    /// The listed certificates of administrators. Some of them may have expired.
    package internal(set) var administrators: [CertificateSerial: AdministratorCertificate] {
        get { box.contents.administrators }
        set { change { $0.administrators = newValue } }
    }

    /// Where the notifications of apps are forwarded to.
    package internal(set) var upstreams: [UpstreamPlace: AppUpstream] {
        get { box.contents.upstreams }
        set { change { $0.upstreams = newValue } }
    }

    /// What Web Push does with the messages of apps. An app that is missing has the usual template and no more.
    package internal(set) var webPush: [UpstreamPlace: AppWebPush] {
        get { box.contents.webPush }
        set { change { $0.webPush = newValue } }
    }

    /// The app that has the relay's URL in an environment.
    package func relay(in environment: Environment) -> AppWebPush? { box.contents.relays[environment] }

    /// What instances may send through the gateway, also those that are suspended or revoked.
    package var grants: GrantTable { box.contents.grants }

    /// The grant that has a key with this identifier.
    package func grant(withKey id: KeyID) -> Grant? { box.contents.grants.grant(withKey: id) }

    /// The grant with this client key.
    package func grant(withClientKey key: String) -> Grant? { box.contents.grants.grant(withClientKey: key) }

    /// The grant that has a key with this public half.
    package func grant(withPublicKey key: [UInt8]) -> Grant? { box.contents.grants.grant(withPublicKey: key) }

    package func app(_ id: AppID) -> App? { box.contents.appsByID[id] }

    /// How many notifications the apps keep that keep more than one; empty if there is no such app.
    package var keeping: [AppID: Int] { box.contents.keeping }

    /// The bound of an app's mailboxes.
    package func mailboxBound(of app: AppID) -> MailboxBound { .app(keep: box.contents.keeping[app] ?? 1) }

    /// Whether an app of the earlier accounts is missing in these.
    func lacksApp(of earlier: AccountsSnapshot) -> Bool { earlier.apps.values.contains { app($0.id) == nil } }

    /// Returns the app that a topic belongs to, and which of the app's services it names. A topic is the app's bundle
    /// ID, or the bundle ID with a suffix.
    package func app(forTopic topic: String) -> (app: App, kind: TopicKind)? {
        if let app = BundleID(rawValue: topic).flatMap({ apps[$0] }) { return (app, .app) }
        for kind in TopicKind.allCases where kind != .app && topic.hasSuffix(kind.suffix) {
            if let app = BundleID(rawValue: String(topic.dropLast(kind.suffix.count))).flatMap({ apps[$0] }) {
                return (app, kind)
            }
        }
        return nil
    }

    /// Whether a provider certificate is trusted: it is listed and not revoked. A certificate that is not listed was
    /// not issued by an administrator, and could not be revoked.
    package func trusts(_ serial: CertificateSerial) -> Bool {
        certificates[serial].map { $0.revoked == nil } ?? false
    }

    /// The team of a provider certificate.
    /// - Parameters:
    ///   - uid: the topic of a certificate of another authority. It counts for the team whose app has the topic.
    ///   - foreignTeam: the team of such a certificate, if nobody has the topic; nil for a certificate that is listed here.
    package func team(ofCertificate serial: CertificateSerial, uid: String, foreignTeam: TeamID?) -> TeamID? {
        guard let foreignTeam else { return certificates[serial]?.team }
        return app(forTopic: uid)?.app.team ?? foreignTeam
    }

    mutating func set(_ grant: Grant) { change { $0.grants.set(grant) } }

    mutating func removeGrants(_ ids: [GrantID]) {
        change { contents in
            for id in ids { contents.grants.remove(id) }
        }
    }

    mutating func insert(_ apps: [App]) {
        change { contents in
            for app in apps { contents.insert(app) }
        }
    }

    /// Removes an app and its certificates. Keys lose it from their restriction.
    mutating func remove(_ app: App) { change { $0.remove(app) } }

    /// Removes a team with its apps, keys and certificates.
    mutating func remove(_ team: TeamID) { change { $0.remove(team) } }

    mutating func advance() { change { $0.version += 1 } }
}
