package import Notifications

/// The accounts at one version.
///
/// One reference, whatever is in it: it is handed out with every batch of requests and every line to a device.
package struct AccountsSnapshot: Sendable, Hashable {
    private var box: Box

    /// What never changes once somebody has it.
    private final class Box: Sendable {
        let contents: Contents
        init(_ contents: Contents) { self.contents = contents }
    }

    private struct Contents: Sendable, Hashable {
        var version: UInt64 = 0
        var teams: [TeamID: Team] = [:]
        var apps: [BundleID: App] = [:]
        var keys: [KeyID: TeamKey] = [:]
        var certificates: [CertificateSerial: TeamCertificate] = [:]
        var revokedDevices: [DeviceKey: Timestamp] = [:]
        var appsByID: [AppID: App] = [:]

        mutating func insert(_ app: App) {
            apps[app.bundleID] = app
            appsByID[app.id] = app
        }

        mutating func remove(_ app: App) {
            apps[app.bundleID] = nil
            appsByID[app.id] = nil
            certificates = certificates.filter { $0.value.bundleID != app.bundleID }
            for (id, key) in keys {
                guard var bundleIDs = key.bundleIDs, bundleIDs.remove(app.bundleID) != nil else { continue }
                // No restriction at all would be one to everything.
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

    /// No accounts at all.
    package init() { box = Box(Contents()) }

    package init(
        version: UInt64,
        teams: [Team] = [],
        apps: [App] = [],
        keys: [TeamKey] = [],
        certificates: [TeamCertificate] = [],
        revokedDevices: [DeviceKey: Timestamp] = [:],
    ) {
        var contents = Contents()
        contents.version = version
        contents.teams = Dictionary(teams.map { ($0.id, $0) }, uniquingKeysWith: { $1 })
        contents.keys = Dictionary(keys.map { ($0.id, $0) }, uniquingKeysWith: { $1 })
        contents.certificates = Dictionary(certificates.map { ($0.serial, $0) }, uniquingKeysWith: { $1 })
        contents.revokedDevices = revokedDevices
        for app in apps { contents.insert(app) }
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
    /// Grows with every change.
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

    package internal(set) var certificates: [CertificateSerial: TeamCertificate] {
        get { box.contents.certificates }
        set { change { $0.certificates = newValue } }
    }

    /// The devices that are trusted no more, and since when.
    package internal(set) var revokedDevices: [DeviceKey: Timestamp] {
        get { box.contents.revokedDevices }
        set { change { $0.revokedDevices = newValue } }
    }

    package func app(_ id: AppID) -> App? { box.contents.appsByID[id] }

    /// Whether an app of the earlier accounts is not in these.
    func lacksApp(of earlier: AccountsSnapshot) -> Bool { earlier.apps.values.contains { app($0.id) == nil } }

    /// The app that a topic addresses, and which of its services: the app whose bundle ID it is, else the one whose
    /// bundle ID and suffix it is.
    package func app(forTopic topic: String) -> (app: App, kind: TopicKind)? {
        if let app = BundleID(rawValue: topic).flatMap({ apps[$0] }) { return (app, .app) }
        for kind in TopicKind.allCases where kind != .app && topic.hasSuffix(kind.suffix) {
            if let app = BundleID(rawValue: String(topic.dropLast(kind.suffix.count))).flatMap({ apps[$0] }) {
                return (app, kind)
            }
        }
        return nil
    }

    /// Whether a provider certificate is trusted: it is listed, and was not revoked. One that is not listed could not be
    /// revoked, and was issued by nobody who may.
    package func trusts(_ serial: CertificateSerial) -> Bool {
        certificates[serial].map { $0.revoked == nil } ?? false
    }

    mutating func insert(_ app: App) { change { $0.insert(app) } }

    /// With its certificates; keys are for it no more.
    mutating func remove(_ app: App) { change { $0.remove(app) } }

    /// With its apps, keys and certificates.
    mutating func remove(_ team: TeamID) { change { $0.remove(team) } }

    mutating func advance() { change { $0.version += 1 } }
}
