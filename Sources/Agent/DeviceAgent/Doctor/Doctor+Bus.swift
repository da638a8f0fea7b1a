import Connections
import Foundation

// The buses: the user's for alerts on the desktop, and the system's for units and names of other users.
extension Doctor {
    /// The socket of the system's bus (the D-Bus Specification, "Well-known Message Bus Instances").
    private static let systemBus = "unix:path=/run/dbus/system_bus_socket"

    func bus() async -> Finding {
        let finding = await alertsAndApps()
        guard finding.state != .fault, let distributor = await distributor() else { return finding }
        guard distributor.state == .ok else { return distributor }
        // Alerts may be missing without harm to the distributor, but not without a word.
        let state = finding.state == .warning ? finding.state : .ok
        return Finding(.bus, state, "\(finding.text) \(distributor.text)", finding.advice)
    }

    /// The distributor of UnifiedPush; nil if the agent is none.
    private func distributor() async -> Finding? {
        guard settings.unifiedPush != nil, let address = settings.unifiedPushBus else { return nil }
        if let cause = await trouble(with: address) {
            return Finding(
                .bus, .fault,
                "The session bus \(address), on which the distributor of UnifiedPush is, does not answer: \(cause).",
                "Start the agent in the user's session, or without --unifiedpush.")
        }
        let isTaken: Bool
        if let name = running?.distributorName {
            isTaken = name == Distributor.NameState.waiting.rawValue
        } else {
            isTaken = await hasOwner(Distributor.name, address)
        }
        guard !isTaken else {
            return Finding(
                .bus, .warning, "Another program is the distributor \(Distributor.name), so apps register with it.",
                "End it, or start the agent without --unifiedpush.")
        }
        return Finding(.bus, .ok, "Apps can register with the distributor \(Distributor.name).")
    }

    private func hasOwner(_ name: String, _ address: String) async -> Bool {
        guard let connection = try? await BusConnection.open(address, { _, _ in }) else { return false }
        defer { connection.close() }
        return (try? await connection.call(.bus("GetNameOwner", name))) != nil
    }

    private func alertsAndApps() async -> Finding {
        let all = readManifests().manifests.values
        let waking = all.filter { $0.unit != nil || $0.busName != nil }.sorted { $0.bundleID < $1.bundleID }
        if let app = waking.first {
            // As in Activation.
            let program = waking.contains { $0.unit != nil } ? "systemctl" : "busctl"
            guard ["/usr/local/bin", "/usr/bin", "/bin"].contains(where: { access("\($0)/\(program)", X_OK) == 0 })
            else {
                return Finding(
                    .bus, .fault, "\(app.bundleID) is started by \(program), which is not installed.",
                    "Install systemd, or use exec in the manifest.")
            }
            if Activation.isSystem, let cause = await trouble(with: Self.systemBus) {
                return Finding(
                    .bus, .fault,
                    "\(app.bundleID) is started through the system's bus, which does not answer: \(cause).",
                    "Start it: systemctl start dbus")
            }
        }
        guard let address = settings.desktopBus else {
            let text =
                "Alerts are not shown on a desktop: the agent's user has no session bus, or --no-desktop was given."
            return waking.isEmpty
                ? Finding(.bus, .skipped, text) : Finding(.bus, .ok, "The system's bus can start apps. \(text)")
        }
        if let cause = await trouble(with: address) {
            return Finding(
                .bus, .fault, "The session bus \(address) does not answer: \(cause).",
                "Start the agent in the user's session, or with --no-desktop.")
        }
        guard await hasNotifications(address) else {
            return Finding(
                .bus, .warning, "The session bus has no notification service, so alerts are not shown.",
                "Start a desktop with org.freedesktop.Notifications, or the agent with --no-desktop.")
        }
        return Finding(.bus, .ok, "The session bus has a notification service.")
    }

    private func trouble(with address: String) async -> String? {
        do {
            try await BusConnection.open(address) { _, _ in }.close()
            return nil
        } catch {
            return (error as? BusError)?.description ?? ConnectionFailure.cause(of: error)
        }
    }

    /// Whether somebody has the name of the notification service, or the bus can start somebody. Nobody is started.
    private func hasNotifications(_ address: String) async -> Bool {
        guard let connection = try? await BusConnection.open(address, { _, _ in }) else { return false }
        defer { connection.close() }
        for method in ["ListNames", "ListActivatableNames"] {
            let call = BusMessage.call("org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus", method)
            guard var body = try? await connection.call(call), let names = body.texts() else { continue }
            if names.contains("org.freedesktop.Notifications") { return true }
        }
        return false
    }
}
