import APNSDevice

// What the agent says of itself.
extension Agent {
    /// - Parameter peer: the caller. It sees the apps that it may be; an administrator sees all.
    func status(for peer: LocalPeer) async throws -> AgentStatus {
        let isAdministrator = isAdministrator(peer)
        // Before anything is read, because others have their turns while it is asked.
        let distributor = isAdministrator ? await distributing() : nil
        readManifestsAgain()
        let counts = try store.counts()
        let names = isAdministrator ? Set(manifests.keys).union(records.keys) : Set(manifests.keys)
        let visible = names.sorted().filter { isAdministrator || manifests[$0]?.admits(peer) == true }
        let (connection, cause): (String, String?) =
            switch connection.current {
            case .connecting: ("connecting", nil)
            case .connected: ("connected", nil)
            case .disconnected(let error, _): ("disconnected", error.cause)
            case .ended(let error): ("ended", error?.cause)
            }
        let reasons = Dictionary(dropped.map { ($0.key.rawValue, $0.value) }) { first, _ in first }
        return AgentStatus(
            deviceID: identity?.deviceID, environment: (identity?.environment ?? settings.environment).rawValue,
            service: "\(settings.courier.host):\(settings.courier.port)", connection: connection, cause: cause,
            version: settings.version, doNotDisturb: isQuiet, apps: visible.map { app($0, counts) },
            refusedManifests: isAdministrator ? refusedManifests : nil, dropped: isAdministrator ? reasons : nil,
            distributor: distributor,
            settings: isAdministrator ? AgentStatus.Start(settings) : nil)
    }

    /// What the distributor of UnifiedPush says of itself; nil if the agent is none.
    private func distributing() async -> AgentStatus.Distributing? {
        guard let app = settings.unifiedPush else { return nil }
        let registrations = await distributor?.connectors.count ?? 0
        let name = distributor?.nameState ?? .disconnected
        return AgentStatus.Distributing(app: app, name: name.rawValue, registrations: registrations)
    }

    private func app(_ bundleID: String, _ counts: [String: Int]) -> AppStatus {
        AppStatus(
            bundleID: bundleID, name: manifests[bundleID]?.name ?? bundleID,
            state: (state.life(of: bundleID) ?? .neverLaunched).rawValue, streams: streams[bundleID]?.count ?? 0,
            pending: counts[bundleID] ?? 0, token: records[bundleID]?.token)
    }

    func settingsDocument() -> DeviceSettings {
        DeviceSettings(doNotDisturb: isQuiet, apps: records.mapValues { AppSettingsDocument($0.currentSettings) })
    }
}

/// The device, its connection, and the apps that the caller sees.
struct AgentStatus: Sendable {
    /// Nil while the service refuses the first activation code.
    let deviceID: String?
    let environment: String
    let service: String
    let connection: String
    let cause: String?
    let version: String
    let doNotDisturb: Bool
    let apps: [AppStatus]
    /// Only for an administrator.
    let refusedManifests: [ManifestFolder.Refused]?
    /// Only for an administrator.
    let dropped: [String: Int]?
    /// The distributor of UnifiedPush; only for an administrator. Nil if the agent is none.
    let distributor: Distributing?
    /// How the agent was started; only for an administrator.
    let settings: Start?

    struct Distributing: Sendable {
        /// The app to which its subscriptions belong.
        let app: String
        /// A ``Distributor/NameState``.
        let name: String
        let registrations: Int
    }

    struct Start: Sendable {
        let state: String
        let host: String
        let port: Int
        let ca: String
        let apps: String
        let environment: String
        let codeFile: String?
        let identityFile: String?
        let bus: String?
        let unifiedPush: String?
        let unifiedPushBus: String?
    }
}

extension AgentStatus.Start {
    init(_ settings: AgentSettings) {
        self.init(
            state: settings.folder, host: settings.courier.host, port: settings.courier.port,
            ca: settings.courier.authorityFile, apps: settings.manifests, environment: settings.environment.rawValue,
            codeFile: settings.codeFile, identityFile: settings.identityFile, bus: settings.desktopBus,
            unifiedPush: settings.unifiedPush, unifiedPushBus: settings.unifiedPushBus)
    }
}

struct AppStatus: Sendable {
    let bundleID: String
    let name: String
    let state: String
    let streams: Int
    let pending: Int
    let token: String?
}

/// The user's settings for the device and its apps.
struct DeviceSettings: Sendable {
    let doNotDisturb: Bool
    let apps: [String: AppSettingsDocument]
}
