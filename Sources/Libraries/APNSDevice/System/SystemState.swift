import Notifications

/// Decides what the system does with a notification and with the user's actions. It is a value; ``DeviceSystem``
/// carries out its decisions.
package struct SystemState: Sendable {
    /// What to do with a notification.
    package enum Delivery: Sendable, Hashable {
        case drop(DropReason)
        /// Give it to the app in the foreground.
        case giveToApp(NotificationContent)
        /// Give it to the app's method for its service, and show this content if there is some (the alert of a push for
        /// a Live Activity that is not refused).
        case giveToService(PushService, shows: NotificationContent?)
        /// Change the app's Live Activities without the app, and show this content if there is some.
        case changeActivities(shows: NotificationContent?)
        /// Show it, after the extension has changed it if it is mutable. Also wake the app if it asks for that.
        case show(NotificationContent, isMutable: Bool, wakesApp: Bool)
        /// Wake the app and show nothing (Guide, 2.2.2).
        case wake
    }

    /// The parts of a notification that the user notices.
    package struct Noticed: Sendable, Hashable {
        /// The notification that is now shown.
        package var shown: ShownNotification?
        /// The app's new badge; 0 if it was removed.
        package var badge: Int?
        package var sound: NotificationContent.Sound?

        package var isNothing: Bool { self == Noticed() }
    }

    fileprivate struct Installed: Sendable {
        var life = AppState.neverLaunched
        var categories: [ExactText: NotificationCategory] = [:]
        var settings = AppSettings()
        var localizations: Localizations
        /// The names of the app's sound files; nil if they are not known.
        var sounds: Set<String>?
    }

    package var languages: [String]
    package var centre = NotificationCentre()
    private var apps: [String: Installed] = [:]

    package init(languages: [String]) { self.languages = languages }

    // MARK: Apps

    /// Installs an app.
    /// - Parameter wasLaunched: whether the app was opened in another run of this program.
    package mutating func install(
        _ bundleID: String,
        _ localizations: Localizations,
        sounds: Set<String>? = nil,
        wasLaunched: Bool = false,
    ) {
        apps[bundleID] = Installed(
            life: wasLaunched ? .background : .neverLaunched, localizations: localizations, sounds: sounds)
    }

    package mutating func register(_ categories: [NotificationCategory], of bundleID: String) {
        apps[bundleID]?.categories = Dictionary(categories.map { (ExactText($0.id), $0) }) { _, last in last }
    }

    /// Removes an app.
    /// - Returns: Whether the app was installed.
    package mutating func remove(_ bundleID: String) -> Bool {
        centre.removeAll(of: bundleID)
        return apps.removeValue(forKey: bundleID) != nil
    }

    package func life(of bundleID: String) -> AppState? { apps[bundleID]?.life }

    /// The apps whose code may run.
    var running: [String] {
        apps.filter { $0.value.life == .foreground || $0.value.life == .background }.keys.sorted()
    }

    package func settings(of bundleID: String) -> AppSettings? { apps[bundleID]?.settings }

    /// Changes the settings for an app. If badges are switched off, the badge disappears at once.
    package mutating func change(_ settings: AppSettings, of bundleID: String) {
        apps[bundleID]?.settings = settings
        if !settings.badges { centre.setBadge(0, of: bundleID) }
    }

    /// Opens the app. The app that was in the foreground moves to the background.
    /// - Returns: Whether this is a launch, at which the app registers; false if the app was already in the foreground;
    ///   nil if it is not installed.
    package mutating func open(_ bundleID: String, _ categories: [NotificationCategory]) -> Bool? {
        guard let life = apps[bundleID]?.life else { return nil }
        for other in apps.keys where apps[other]?.life == .foreground { apps[other]?.life = .background }
        apps[bundleID]?.life = .foreground
        register(categories, of: bundleID)
        // An app in the background was suspended or is launched again. It registers in both cases.
        return life != .foreground
    }

    /// Puts the app into the foreground and leaves the others where they are: on a machine with several screens, more
    /// than one app can be in the foreground.
    package mutating func bringForward(_ bundleID: String) { apps[bundleID]?.life = .foreground }

    package mutating func enterBackground(_ bundleID: String) {
        if apps[bundleID]?.life == .foreground { apps[bundleID]?.life = .background }
    }

    package mutating func forceQuit(_ bundleID: String) {
        guard let life = apps[bundleID]?.life, life != .neverLaunched else { return }
        apps[bundleID]?.life = .forceQuit
    }

    /// Starts an app that the user has ended in the background, because a call has come for it.
    package mutating func launch(_ bundleID: String) {
        if apps[bundleID]?.life == .forceQuit { apps[bundleID]?.life = .background }
    }

    /// Resets all apps, as after the device was erased or restored: each one has to be opened again before it
    /// receives anything.
    package mutating func reset() {
        for bundleID in apps.keys { apps[bundleID]?.life = .neverLaunched }
    }

    // MARK: Notifications

    /// Decides what to do with a notification.
    package func delivery(of notification: ReceivedNotification) -> Delivery {
        guard let app = apps[notification.bundleID] else { return .drop(.notInstalled) }
        let payload = PayloadReading(notification.payload)
        let content = NotificationContent(payload, app.localizations, languages: languages)
        if let service = notification.service { return delivery(of: notification, for: service, content, app) }
        guard app.life != .neverLaunched else { return .drop(.neverLaunched) }
        guard app.life != .foreground else { return .giveToApp(app.audible(content)) }
        let runs = app.life == .background
        if payload.isSilent { return runs ? .wake : .drop(.forceQuit) }
        let isEmpty = payload.alert == nil && payload.badge == nil && payload.sound == nil
        guard !isEmpty else { return .drop(.nothingToShow) }
        // The extension is a separate program, so it also runs if the user has ended the app.
        return .show(
            app.audible(content), isMutable: payload.isMutable && content.hasAlert,
            wakesApp: runs && payload.isContentAvailable)
    }

    /// A push for a service goes to the app's code. If the user has ended the app, a call starts it again, and its widgets
    /// and controls are updated, because they are programs of their own. The system changes Live Activities, so these
    /// pushes do not depend on the app: of an app that was never opened only those that start one are dropped, because
    /// the app has no device token for them yet.
    ///
    /// The alert of a push for a Live Activity is about its change, so it is not shown if the push is refused. Apple's
    /// pages name three events, and each push has one of them. A push without an event, or with an unknown one, changes
    /// nothing, so its alert is not shown either.
    private func delivery(
        of notification: ReceivedNotification,
        for service: PushService,
        _ content: NotificationContent,
        _ app: Installed,
    ) -> Delivery {
        let push = service == .liveActivity ? ActivityPush(notification.payload) : nil
        let showsAlert = push.map { $0.refusal(of: notification) == nil } ?? false
        let shown = showsAlert && content.hasAlert ? app.audible(content) : nil
        switch app.life {
        case .foreground, .background: return .giveToService(service, shows: shown)
        case .neverLaunched:
            guard let event = push?.event, event != .start else { return .drop(.neverLaunched) }
            return .changeActivities(shows: shown)
        case .forceQuit:
            if push != nil { return .changeActivities(shows: shown) }
            switch service {
            case .voip, .widgets, .controls: return .giveToService(service, shows: shown)
            case .complication, .fileProvider, .location, .liveActivity, .pushToTalk, .mdm: return .drop(.forceQuit)
            }
        }
    }

    /// Shows the parts of a notification that the app wants and the user allows.
    package mutating func show(
        _ notification: ReceivedNotification,
        _ content: NotificationContent,
        _ presentation: Presentation = .all,
    ) -> Noticed {
        guard let app = apps[notification.bundleID] else { return Noticed() }
        let presentation = presentation.intersection(app.settings.allowed)
        var content = app.audible(content)
        // Parts that are not wanted are not part of the shown content either.
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
        let category = content.category.flatMap { app.categories[ExactText($0)] }
        centre.show(
            ShownNotification(
                notification, content, actions: category?.actions ?? [], style: app.settings.alerts,
                hasContentExtension: category?.hasContentExtension ?? false))
        noticed.shown = centre.notifications.first
        return noticed
    }

    /// Returns why the user noticed nothing of a notification that was to be shown.
    package func reasonForNothing(of notification: ReceivedNotification) -> DropReason {
        settings(of: notification.bundleID)?.allowed == .all ? .nothingToShow : .switchedOff
    }

    /// Returns the shown notifications of the same app and thread identifier, the newest first (Guide, Table 9-1).
    func thread(of shown: ShownNotification) -> [ShownNotification] {
        guard !shown.content.threadID.isEmpty else { return [] }
        return centre.notifications.filter {
            $0.bundleID == shown.bundleID && $0.content.threadID.isSame(as: shown.content.threadID) && $0.id != shown.id
        }
    }

    /// Handles the user's response and removes the notification.
    /// - Returns: The notification and whether the app comes to the foreground; nil if the notification is not shown
    ///   or does not have the action.
    package mutating func respond(
        to id: String,
        _ response: NotificationResponse,
    ) -> (shown: ShownNotification, opensApp: Bool)? {
        guard let shown = centre.notifications.first(where: { $0.id == id }) else { return nil }
        let opensApp: Bool
        switch response {
        case .open: opensApp = true
        case .dismiss: opensApp = false
        case .action(let action):
            guard let chosen = shown.actions.first(where: { $0.id.isSame(as: action) }) else { return nil }
            opensApp = chosen.opensApp
        }
        centre.remove(id)
        return (shown, opensApp)
    }
}

extension SystemState.Installed {
    /// Replaces a sound file that cannot be found by the default sound (Guide, Table 9-1).
    fileprivate func audible(_ content: NotificationContent) -> NotificationContent {
        guard let sounds, let sound = content.sound, !sounds.containsExactly(sound.name) else { return content }
        var content = content
        content.sound?.name = NotificationContent.Sound.defaultName
        return content
    }
}
