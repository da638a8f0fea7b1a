import APNSDevice
import Logging

// The user's side: settings, and responses to notifications.
extension Agent {
    /// Whether the user does not want to be disturbed.
    func setQuiet(_ isOn: Bool) throws(AgentError) {
        try Self.storing(store.keep(isOn ? "on" : "off", as: Self.quietSetting))
        isQuiet = isOn
    }

    /// The user changes the settings of an app.
    func change(_ document: AppSettingsDocument, of bundleID: String) throws(AgentError) -> AppSettings {
        guard var record = records[bundleID] else { throw Self.notRegistered(bundleID) }
        record.settings = AppSettingsDocument(document.applied(to: record.currentSettings))
        try Self.storing(store.keep(record, of: bundleID))
        records[bundleID] = record
        changeState(of: bundleID) { $0.change(record.currentSettings, of: bundleID) }
        return record.currentSettings
    }

    /// The app changes its badge. If its badges are switched off, it has none.
    func setBadge(_ wanted: Int, of bundleID: String) throws(AgentError) {
        guard let record = records[bundleID] else { throw Self.notRegistered(bundleID) }
        let badge = record.currentSettings.badges ? wanted : 0
        try Self.storing(store.keepBadge(badge, of: bundleID))
        state.centre.setBadge(badge, of: bundleID)
        if desktop != nil { screen.continuation.yield(.badge(bundleID)) }
    }

    /// The user responds to a notification, on the desktop or on the app's own screen.
    /// - Returns: whether it was on show, and has the action.
    @discardableResult
    func respond(
        to id: String, _ response: NotificationResponse, of app: String? = nil
    ) async throws(AgentError) -> Bool {
        var changed = state
        guard
            let shown = state.centre.notifications.first(where: { $0.id == id && (app ?? $0.bundleID) == $0.bundleID }),
            let (_, _) = changed.respond(to: id, response)
        else { return false }
        // If this fails, it stays on show, so that the user can respond again.
        _ = try Self.storing(store.add([EventLine.responded(shown, response).text], of: shown.bundleID))
        state = changed
        // A response means that the user wants the app, even after ending it.
        if response != .dismiss {
            launch(shown.bundleID)
            keepLaunch(of: shown.bundleID)
        }
        await desktop?.remove(id)
        await announce(to: shown.bundleID)
        return true
    }

    func respondOnDesktop(to id: String, _ response: NotificationResponse) async {
        do {
            try await respond(to: id, response)
        } catch {
            logger.error("A user's response is lost", metadata: ["cause": "\(error.cause)"])
        }
    }

    /// An app takes a notification off the screen.
    /// - Returns: whether it was on show.
    func withdraw(_ id: String, of bundleID: String) async -> Bool {
        guard state.centre.notifications.contains(where: { $0.id == id && $0.bundleID == bundleID }) else {
            return false
        }
        state.centre.remove(id)
        await desktop?.remove(id)
        return true
    }
}
