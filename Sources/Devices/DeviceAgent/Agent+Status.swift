import APNSDevice
import Notifications

// What the agent says of itself.
extension Agent {
    /// - Parameter peer: the caller. It sees the apps that it may be; an administrator sees all.
    func status(for peer: LocalPeer) throws -> JSONValue {
        let isAdministrator = isAdministrator(peer)
        readManifestsAgain()
        let counts = try store.counts()
        let names = isAdministrator ? Set(manifests.keys).union(records.keys) : Set(manifests.keys)
        let visible = names.sorted().filter { isAdministrator || manifests[$0]?.admits(peer) == true }
        var status: [String: JSONValue] = [
            "deviceID": .string(identity.deviceID), "environment": .string(identity.environment.rawValue),
            "service": .string("\(settings.courier.host):\(settings.courier.port)"),
            "version": .string(settings.version),
            "doNotDisturb": .bool(isQuiet), "apps": .array(visible.map { app($0, counts) }),
        ]
        switch connection.current {
        case .connecting: status["connection"] = "connecting"
        case .connected: status["connection"] = "connected"
        case .disconnected(let error, _):
            status["connection"] = "disconnected"
            status["cause"] = .string(error.cause)
        case .ended(let error):
            status["connection"] = "ended"
            status["cause"] = error.map { .string($0.cause) }
        }
        guard isAdministrator else { return .object(status) }
        status["refusedManifests"] = .array(
            refusedManifests.map { ["file": .string($0.file), "cause": .string($0.cause)] })
        status["dropped"] = .object(
            Dictionary(dropped.map { ($0.key.rawValue, .integer($0.value)) }) { first, _ in first })
        return .object(status)
    }

    private func app(_ bundleID: String, _ counts: [String: Int]) -> JSONValue {
        var app: [String: JSONValue] = [
            "bundleID": .string(bundleID), "name": .string(manifests[bundleID]?.name ?? bundleID),
            "state": .string((state.life(of: bundleID) ?? .neverLaunched).rawValue),
            "streams": .integer(streams[bundleID]?.count ?? 0), "pending": .integer(counts[bundleID] ?? 0),
        ]
        app["token"] = records[bundleID].map { .string($0.token) }
        return .object(app)
    }

    func settingsDocument() -> DeviceSettings {
        DeviceSettings(doNotDisturb: isQuiet, apps: records.mapValues { AppSettingsDocument($0.currentSettings) })
    }
}

/// The user's settings for the device and its apps.
struct DeviceSettings: Sendable {
    let doNotDisturb: Bool
    let apps: [String: AppSettingsDocument]
}
