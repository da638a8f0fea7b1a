/// How the system treats the apps on the device: a value that decides what becomes of a notification and of what the
/// user does. ``DeviceSystem`` carries it out.
struct SystemState: Sendable {
    /// What is to be done with a notification.
    enum Delivery: Sendable, Hashable {
        case drop(DropReason)
        /// The app gets it itself.
        case giveToApp(NotificationContent)
        /// It is for a service of the app; what it has to show, for a Live Activity's alert.
        case giveToService(PushService, shows: NotificationContent?)
        /// The system shows it, after the extension had its turn; the app is woken besides where it asks for it.
        case show(NotificationContent, isMutable: Bool, wakesApp: Bool)
        /// Nothing is shown, the app is woken (Guide, 2.2.2).
        case wake
    }

    /// What the user notices of a notification.
    struct Noticed: Sendable, Hashable {
        /// What is on show now.
        var shown: ShownNotification?
        /// What the app's badge is now; 0 for none.
        var badge: Int?
        var sound: NotificationContent.Sound?

        var isNothing: Bool { self == Noticed() }
    }

    fileprivate struct Installed: Sendable {
        var life = AppState.neverLaunched
        var categories: [String: NotificationCategory] = [:]
        var settings = AppSettings()
        var localizations: Localizations
        /// The names of its sound files; nil if they are not known.
        var sounds: Set<String>?
    }

    var languages: [String]
    var centre = NotificationCentre()
    private var apps: [String: Installed] = [:]

    init(languages: [String]) { self.languages = languages }

    // MARK: Apps

    /// - Parameter wasLaunched: whether the app was opened before, in another run of this program.
    mutating func install(
        _ bundleID: String,
        _ localizations: Localizations,
        sounds: Set<String>? = nil,
        wasLaunched: Bool = false,
    ) {
        apps[bundleID] = Installed(
            life: wasLaunched ? .background : .neverLaunched, localizations: localizations, sounds: sounds)
    }

    mutating func register(_ categories: [NotificationCategory], of bundleID: String) {
        apps[bundleID]?.categories = Dictionary(categories.map { ($0.id, $0) }) { _, last in last }
    }

    /// - Returns: Whether the app was there.
    mutating func remove(_ bundleID: String) -> Bool {
        centre.removeAll(of: bundleID)
        return apps.removeValue(forKey: bundleID) != nil
    }

    func life(of bundleID: String) -> AppState? { apps[bundleID]?.life }

    /// The apps whose code may run.
    var running: [String] {
        apps.filter { $0.value.life == .foreground || $0.value.life == .background }.keys.sorted()
    }

    func settings(of bundleID: String) -> AppSettings? { apps[bundleID]?.settings }

    /// The user changes what an app's notifications may do. A badge that is switched off goes at once.
    mutating func change(_ settings: AppSettings, of bundleID: String) {
        apps[bundleID]?.settings = settings
        if !settings.badges { centre.setBadge(0, of: bundleID) }
    }

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
        guard app.life != .neverLaunched else { return .drop(.neverLaunched) }
        let payload = PayloadReading(notification.payload)
        let content = NotificationContent(payload, app.localizations, languages: languages)
        if let service = notification.service { return delivery(for: service, content, app) }
        guard app.life != .foreground else { return .giveToApp(app.audible(content)) }
        let runs = app.life == .background
        if payload.isSilent { return runs ? .wake : .drop(.forceQuit) }
        let isEmpty = payload.alert == nil && payload.badge == nil && payload.sound == nil
        guard !isEmpty else { return .drop(.nothingToShow) }
        // The extension is a program of its own: it runs for an app that was ended, too.
        return .show(
            app.audible(content), isMutable: payload.isMutable && content.hasAlert,
            wakesApp: runs && payload.isContentAvailable)
    }

    /// A service's pushes are for the app's code alone; the system shows the alert of a Live Activity.
    private func delivery(for service: PushService, _ content: NotificationContent, _ app: Installed) -> Delivery {
        let shown = service == .liveActivity && content.hasAlert ? app.audible(content) : nil
        guard app.life == .forceQuit else { return .giveToService(service, shows: shown) }
        return shown.map { .show($0, isMutable: false, wakesApp: false) } ?? .drop(.forceQuit)
    }

    /// Puts a notification on show, as far as the app and the user want it.
    mutating func show(
        _ notification: ReceivedNotification,
        _ content: NotificationContent,
        _ presentation: Presentation = .all,
    ) -> Noticed {
        guard let app = apps[notification.bundleID] else { return Noticed() }
        let presentation = presentation.intersection(app.settings.allowed)
        var content = app.audible(content)
        // What is not wanted is no part of what is on show either.
        if !presentation.contains(.badge) { content.badge = nil }
        if !presentation.contains(.sound) { content.sound = nil }
        var noticed = Noticed()
        if content.badge != nil {
            centre.setBadge(content.badge, of: notification.bundleID)
            noticed.badge = centre.badge(of: notification.bundleID)
        }
        if content.interruptionLevel != .passive { noticed.sound = content.sound }
        guard presentation.contains(.banner), content.hasAlert else { return noticed }
        // A category without an alert shows no actions (Guide, 2.2.3).
        let category = content.category.flatMap { app.categories[$0] }
        centre.show(
            ShownNotification(
                notification, content, actions: category?.actions ?? [], style: app.settings.alerts,
                hasContentExtension: category?.hasContentExtension ?? false))
        noticed.shown = centre.notifications.first
        return noticed
    }

    /// Why the user noticed nothing of a notification that was shown.
    func reasonForNothing(of notification: ReceivedNotification) -> DropReason {
        settings(of: notification.bundleID)?.allowed == .all ? .nothingToShow : .switchedOff
    }

    /// Those on show with the same thread identifier of the same app, the newest first (Guide, Table 9-1).
    func thread(of shown: ShownNotification) -> [ShownNotification] {
        guard !shown.content.threadID.isEmpty else { return [] }
        return centre.notifications.filter {
            $0.bundleID == shown.bundleID && $0.content.threadID == shown.content.threadID && $0.id != shown.id
        }
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

extension SystemState.Installed {
    /// A sound file that cannot be found, and the name `default`, are the default sound (Guide, Table 9-1).
    fileprivate func audible(_ content: NotificationContent) -> NotificationContent {
        guard let sounds, let sound = content.sound, !sounds.contains(sound.name) else { return content }
        var content = content
        content.sound?.name = NotificationContent.Sound.defaultName
        return content
    }
}
