package import Notifications

/// The accounts at one version.
package struct AccountsSnapshot: Sendable, Hashable {
    /// Grows with every change.
    package private(set) var version: UInt64
    package internal(set) var teams: [TeamID: Team] = [:]
    package private(set) var apps: [BundleID: App] = [:]
    package internal(set) var keys: [KeyID: TeamKey] = [:]
    package internal(set) var certificates: [CertificateSerial: TeamCertificate] = [:]
    /// The devices that are trusted no more, and since when.
    package internal(set) var revokedDevices: [DeviceKey: Timestamp] = [:]
    private var appsByID: [AppID: App] = [:]

    /// No accounts at all.
    package init() { version = 0 }

    package init(
        version: UInt64,
        teams: [Team] = [],
        apps: [App] = [],
        keys: [TeamKey] = [],
        certificates: [TeamCertificate] = [],
        revokedDevices: [DeviceKey: Timestamp] = [:],
    ) {
        self.version = version
        self.teams = Dictionary(teams.map { ($0.id, $0) }, uniquingKeysWith: { $1 })
        self.keys = Dictionary(keys.map { ($0.id, $0) }, uniquingKeysWith: { $1 })
        self.certificates = Dictionary(certificates.map { ($0.serial, $0) }, uniquingKeysWith: { $1 })
        self.revokedDevices = revokedDevices
        for app in apps { insert(app) }
    }

    package func app(_ id: AppID) -> App? { appsByID[id] }

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

    mutating func insert(_ app: App) {
        apps[app.bundleID] = app
        appsByID[app.id] = app
    }

    mutating func advance() { version += 1 }
}
