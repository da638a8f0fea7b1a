/// How the system treats the apps on the device: a value that decides what becomes of a notification and of what the
/// user does. ``DeviceSystem`` carries it out.
struct SystemState: Sendable {
    /// In which state an app is.
    enum Life: Sendable, Hashable {
        /// Installed, and never opened: it has no device token yet (Guide, 2.1: "launched at least once").
        case neverLaunched
        case foreground
        /// Not seen: suspended, or not running.
        case background
        /// The user ended it: nothing reaches it until the user opens it again.
        case forceQuit
    }

    /// Why nobody gets a notification.
    enum Drop: Sendable, Hashable {
        case notInstalled
        case neverLaunched
        case forceQuit
    }

    /// What is to be done with a notification.
    enum Delivery: Sendable, Hashable {
        case drop(Drop)
        /// The app gets it itself.
        case giveToApp(NotificationContent)
        /// The system shows it, after the extension had its turn; the app is woken besides where it asks for it.
        case show(NotificationContent, isMutable: Bool, wakesApp: Bool)
        /// Nothing is shown, the app is woken (Guide, 2.2.2).
        case wake
    }

    private struct Installed: Sendable {
        var life = Life.neverLaunched
        var categories: [String: NotificationCategory] = [:]
        var localizations: Localizations
    }

    var languages: [String]
    var centre = NotificationCentre()
    private var apps: [String: Installed] = [:]

    init(languages: [String]) { self.languages = languages }

    // MARK: Apps

    /// - Parameter wasLaunched: whether the app was opened before, in another run of this program.
    mutating func install(_ bundleID: String, _ localizations: Localizations, wasLaunched: Bool = false) {
        apps[bundleID] = Installed(
            life: wasLaunched ? .background : .neverLaunched, localizations: localizations)
    }

    mutating func register(_ categories: [NotificationCategory], of bundleID: String) {
        apps[bundleID]?.categories = Dictionary(categories.map { ($0.id, $0) }) { _, last in last }
    }

    /// - Returns: Whether the app was there.
    mutating func remove(_ bundleID: String) -> Bool {
        centre.removeAll(of: bundleID)
        return apps.removeValue(forKey: bundleID) != nil
    }

    func life(of bundleID: String) -> Life? { apps[bundleID]?.life }

    /// The user opens the app; the one that was in the foreground goes to the background.
    /// - Returns: Whether it is a launch, at which the app registers, rather than its coming back to the foreground.
    mutating func open(_ bundleID: String, _ categories: [NotificationCategory]) -> Bool? {
        guard let life = apps[bundleID]?.life else { return nil }
        for other in apps.keys where apps[other]?.life == .foreground { apps[other]?.life = .background }
        apps[bundleID]?.life = .foreground
        register(categories, of: bundleID)
        // One in the background that is opened was suspended, or is launched anew: both register.
        return life != .foreground
    }

    mutating func enterBackground(_ bundleID: String) {
        if apps[bundleID]?.life == .foreground { apps[bundleID]?.life = .background }
    }

    mutating func forceQuit(_ bundleID: String) {
        guard let life = apps[bundleID]?.life, life != .neverLaunched else { return }
        apps[bundleID]?.life = .forceQuit
    }

    /// The device was erased or restored: each app has to be opened once before anything comes for it again.
    mutating func reset() {
        for bundleID in apps.keys { apps[bundleID]?.life = .neverLaunched }
    }

    // MARK: Notifications

    /// Says what becomes of a notification.
    func delivery(of notification: ReceivedNotification) -> Delivery {
        guard let app = apps[notification.bundleID] else { return .drop(.notInstalled) }
        let payload = PayloadReading(notification.payload)
        let content = NotificationContent(payload, app.localizations, languages: languages)
        switch app.life {
        case .neverLaunched: return .drop(.neverLaunched)
        case .forceQuit: return .drop(.forceQuit)
        case .foreground: return .giveToApp(content)
        case .background:
            if payload.isSilent { return .wake }
            return .show(
                content, isMutable: payload.isMutable && content.hasAlert, wakesApp: payload.isContentAvailable)
        }
    }

    /// Puts a notification on show, as far as it is wanted.
    /// - Returns: What is on show now; nil where there is nothing to see.
    mutating func show(
        _ notification: ReceivedNotification,
        _ content: NotificationContent,
        _ presentation: Presentation = .all,
    ) -> ShownNotification? {
        guard let app = apps[notification.bundleID] else { return nil }
        if presentation.contains(.badge) { centre.setBadge(content.badge, of: notification.bundleID) }
        guard presentation.contains(.banner), content.hasAlert else { return nil }
        // A category without an alert shows no actions (Guide, 2.2.3).
        let actions = content.category.flatMap { app.categories[$0]?.actions } ?? []
        centre.show(ShownNotification(notification, content, actions: actions))
        return centre.notifications.first
    }

    /// What the user's response leads to: the notification leaves the centre.
    /// - Returns: The notification, and whether the app comes to the foreground.
    mutating func respond(
        to id: String,
        _ response: NotificationResponse,
    ) -> (shown: ShownNotification, opensApp: Bool)? {
        guard let shown = centre.notifications.first(where: { $0.id == id }) else { return nil }
        let opensApp: Bool
        switch response {
        case .open: opensApp = true
        case .dismiss: opensApp = false
        case .action(let action):
            guard let chosen = shown.actions.first(where: { $0.id == action }) else { return nil }
            opensApp = chosen.opensApp
        }
        centre.remove(id)
        return (shown, opensApp)
    }
}
