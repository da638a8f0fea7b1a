public import Foundation

/// The system between a device and its apps. It registers the apps, gives them their notifications, shows
/// notifications, and lets the user respond (Guide, 2.1.4.4 and 2.2).
///
/// ```swift
/// let system = DeviceSystem(languages: ["de-CH", "fr"])
/// await system.install("com.example.app", app)
/// let device = try Device(identity, at: courier, delegate: system)
/// await system.use(device)
/// async let running: Void = device.run()
/// await system.open("com.example.app")
/// ```
public actor DeviceSystem: DeviceDelegate {
    /// An event that a user can see or hear, or that a test can check.
    public enum Event: Sendable, Hashable {
        /// A notification is shown, or replaces an earlier one. If it is passive, it makes no sound.
        case shown(ShownNotification)
        /// A sound is played for an app.
        case sound(NotificationContent.Sound, bundleID: String)
        /// An app's badge has changed; 0 means that it was removed.
        case badge(Int, bundleID: String)
        /// The notification was given to the app in the foreground.
        case givenToApp(ReceivedNotification)
        /// The app was woken by the notification, with this result.
        case woken(ReceivedNotification, BackgroundResult)
        /// The push was given to the app's method for its service.
        case pushed(ReceivedNotification, PushService)
        /// A Web Push message came for the app: ``ReceivedNotification/webPush``.
        case webPush(ReceivedNotification)
        /// A Live Activity has changed.
        case activity(LiveActivity, LiveActivity.Change)
        /// A Live Activity has got the device token for its updates.
        case activityRegistered(LiveActivity, deviceToken: String)
        /// The user opened the app with this notification. The system shows its launch image, and the app shows the
        /// window of its `target-content-id`.
        case opened(with: ShownNotification)
        /// The user expanded a notification.
        case expanded(ShownNotification, NotificationView)
        /// The notification reached neither the app nor the user, for this reason.
        case dropped(ReceivedNotification, DropReason)
        /// The user changed the preferred languages.
        case languagesChanged([String])
        /// An app got a different device token than at its last launch.
        case deviceTokenChanged(bundleID: String, deviceToken: String)
        /// The state of the device's connection has changed.
        case stateChanged(Device.State)
        /// A problem that does not end the connection.
        case problem(DeviceError)
    }

    /// The time that an app in the background has for a silent notification (Guide, 2.2.2).
    public static let backgroundTime = Duration.seconds(30)
    /// The time that a notification service extension or content extension has.
    public static let extensionTime = Duration.seconds(30)

    var state: SystemState
    /// The Live Activities that the device shows.
    public internal(set) var activities = LiveActivities()
    var apps: [String: any App] = [:]
    private var categories: [String: [NotificationCategory]] = [:]
    private var tokens: [String: String] = [:]
    /// The bundle IDs of removed apps of whose removal the service does not know yet.
    private var unreportedRemovals: Set<String> = []
    var device: Device?
    let clock: any Clock<Duration>
    let now: @Sendable () -> Date
    /// Wakes the system when a Live Activity changes by itself.
    var activityTimer: Task<Void, Never>?
    /// The channels whose subscriptions may no longer fit the Live Activities, in the order of the changes.
    var changedChannels: [ChannelOfApp] = []
    /// Whether a task changes the subscriptions. There is only one, so that they take effect in order.
    var isSubscribing = false
    private let keep: @Sendable (DeviceIdentity) async throws -> Void
    let report: @Sendable (Event) -> Void

    /// Creates a system.
    /// - Parameters:
    ///   - languages: the user's languages, the preferred one first.
    ///   - clock: the clock for the time limits of apps and extensions.
    ///   - report: is called with each event, in order. It has to return soon.
    ///   - keep: stores a renewed identity in place of the old one. If it throws, the device keeps using the old
    ///     identity.
    ///   - now: the time of day, for Live Activities.
    public init(
        languages: [String] = ["en"],
        clock: any Clock<Duration> = ContinuousClock(),
        report: @escaping @Sendable (Event) -> Void = { _ in },
        keep: @escaping @Sendable (DeviceIdentity) async throws -> Void = { _ in
            throw DeviceError(.storage, "This system was not given a function that stores renewed identities.")
        },
        now: @escaping @Sendable () -> Date = { Date() },
    ) {
        state = SystemState(languages: languages)
        self.clock = clock
        self.now = now
        self.keep = keep
        self.report = report
    }

    /// Sets the device whose delegate this system is.
    public func use(_ device: Device) { self.device = device }

    /// The notifications and badges that the device shows.
    public var centre: NotificationCentre { state.centre }

    // MARK: Apps

    /// Installs an app. It receives nothing before it was opened for the first time.
    /// - Parameters:
    ///   - bundleID: the app's bundle ID.
    ///   - app: the app.
    ///   - localizations: the app's texts.
    ///   - sounds: the names of the sound files in the app's bundle and its `Library/Sounds` folder. The default
    ///     sound is played instead of any other (Guide, Table 9-1). If this is nil, all names are allowed.
    ///   - wasLaunched: whether the app was opened in an earlier run of this program. It is then in the background.
    ///   - categories: the categories that the app registered at that launch.
    public func install(
        _ bundleID: String,
        _ app: any App,
        localizations: Localizations = Localizations(),
        sounds: Set<String>? = nil,
        wasLaunched: Bool = false,
        categories: [NotificationCategory] = [],
    ) {
        apps[bundleID] = app
        self.categories[bundleID] = categories
        state.install(bundleID, localizations, sounds: sounds, wasLaunched: wasLaunched)
        state.register(categories, of: bundleID)
    }

    /// Returns whether the app is on the device.
    public func hasInstalled(_ bundleID: String) -> Bool { apps[bundleID] != nil }

    /// Returns the state of an app; nil if it is not on the device.
    public func state(of bundleID: String) -> AppState? { state.life(of: bundleID) }

    /// Returns the user's settings for an app; nil if it is not on the device.
    public func settings(of bundleID: String) -> AppSettings? { state.settings(of: bundleID) }

    /// Changes the user's settings for an app.
    public func change(_ settings: AppSettings, of bundleID: String) { state.change(settings, of: bundleID) }

    /// The user's languages, the preferred one first.
    public var languages: [String] { state.languages }

    /// Changes the user's languages. Notifications that arrive from now on are shown in them. Apps that run are told
    /// at once, other apps at their next launch (Guide, 2.2.4.1).
    public func change(languages: [String]) async {
        guard languages != state.languages else { return }
        state.languages = languages
        report(.languagesChanged(languages))
        for bundleID in state.running {
            if let app = apps[bundleID] { await app.userPrefers(languages: languages) }
        }
    }

    /// Opens an app. If this launches it, it registers and gets its device token.
    /// - Parameters:
    ///   - bundleID: the app's bundle ID.
    ///   - categories: the categories that the app registers at its launch.
    public func open(_ bundleID: String, categories: [NotificationCategory] = []) async {
        self.categories[bundleID] = categories
        await bringForward(bundleID)
    }

    private func bringForward(_ bundleID: String) async {
        guard let isLaunch = state.open(bundleID, categories[bundleID] ?? []), isLaunch, let app = apps[bundleID],
            let device
        else { return }
        do throws(DeviceError) {
            let token = try await device.register(bundleID)
            if let old = tokens.updateValue(token, forKey: bundleID), old != token {
                report(.deviceTokenChanged(bundleID: bundleID, deviceToken: token))
            }
            await app.registered(deviceToken: token)
        } catch {
            await app.registrationFailed(error)
        }
        await app.userPrefers(languages: state.languages)
    }

    /// Moves an app from the foreground to the background.
    public func enterBackground(_ bundleID: String) { state.enterBackground(bundleID) }

    /// Ends an app, as a user can. Its code does not run until it is opened again, but the system still shows its
    /// alerts.
    public func forceQuit(_ bundleID: String) { state.forceQuit(bundleID) }

    /// Removes an app from the device. Its device token is then no longer active.
    /// - Throws: ``DeviceError`` if the service could not be told. The app is removed even so; call this again to tell
    ///   the service.
    public func remove(_ bundleID: String) async throws(DeviceError) {
        guard state.remove(bundleID) || unreportedRemovals.contains(bundleID) else { return }
        activities.removeAll(of: bundleID)
        apps[bundleID] = nil
        tokens[bundleID] = nil
        unreportedRemovals.insert(bundleID)
        try await device?.unregister(bundleID)
        unreportedRemovals.remove(bundleID)
    }

    /// Resets the device, as after it was erased or restored. All device tokens change, each app has to be opened
    /// again, and no Live Activity is on show.
    /// - Throws: ``DeviceError`` if the service could not be told.
    public func reset() async throws(DeviceError) {
        try await device?.reset()
        unreportedRemovals = []
        state.reset()
        // Their device tokens and subscriptions have ended with the registrations.
        activities.removeAll()
        waitForActivities()
    }

    // MARK: The user

    /// Responds to a shown notification, as a user can.
    /// - Returns: Whether the notification is shown and has the chosen action.
    @discardableResult
    public func respond(to id: ShownNotification.ID, with response: NotificationResponse) async -> Bool {
        guard let (shown, opensApp) = state.respond(to: id, response) else { return false }
        if opensApp {
            report(.opened(with: shown))
            await bringForward(shown.bundleID)
        }
        await apps[shown.bundleID]?.responded(to: shown, with: response)
        return true
    }

    /// Expands a shown notification, as a user can. If its category has a content extension, the extension draws the
    /// view. If it has none, or the extension takes more than 30 seconds, the system shows all of the text.
    /// - Returns: The view; nil if the notification is not shown.
    @discardableResult
    public func expand(_ id: ShownNotification.ID) async -> NotificationView? {
        guard let shown = state.centre.notifications.first(where: { $0.id == id }) else { return nil }
        var view = NotificationView(of: shown.content)
        if shown.hasContentExtension, let app = apps[shown.bundleID] {
            let earlier = state.thread(of: shown)
            let drawn = await TimeLimit.run(Self.extensionTime, clock) { await app.view(of: shown, after: earlier) }
            if let drawn = drawn.flatMap(\.self) {
                view = drawn
                view.isOfExtension = true
            }
        }
        report(.expanded(shown, view))
        return view
    }

    // MARK: DeviceDelegate

    public func received(_ notification: ReceivedNotification) async {
        // Only the app can read it, so there is nothing to show.
        guard notification.webPush == nil else { return report(.webPush(notification)) }
        let app = apps[notification.bundleID]
        switch state.delivery(of: notification) {
        case .drop(let reason):
            report(.dropped(notification, reason))
        case .giveToApp(let content):
            guard let app else { return }
            let presentation = await app.received(notification, content)
            report(.givenToApp(notification))
            show(notification, content, presentation)
        case .giveToService(let service, let content):
            guard let app else { return }
            if service == .voip { state.launch(notification.bundleID) }
            report(.pushed(notification, service))
            if service == .liveActivity { changeActivities(notification, shows: content) }
            // The system has the push, so the acknowledgement need not wait for the app.
            Task { [clock] in
                await TimeLimit.run(Self.backgroundTime, clock) { await app.received(notification, for: service) }
            }
        case .changeActivities(let content):
            report(.pushed(notification, .liveActivity))
            changeActivities(notification, shows: content)
        case .show(let content, let isMutable, let wakesApp):
            if isMutable, let app {
                // The system has the notification, so the acknowledgement need not wait for the extension.
                Task { await extend(notification, content, app, wakesApp: wakesApp) }
            } else {
                showOrDrop(notification, content, wakesApp: wakesApp)
            }
            if wakesApp, let app { Task { await wake(app, notification) } }
        case .wake:
            if let app { Task { await wake(app, notification) } }
        }
    }

    // MARK: The connection

    public nonisolated func stateChanged(to state: Device.State) { report(.stateChanged(state)) }

    public nonisolated func reported(_ problem: DeviceError) { report(.problem(problem)) }

    public nonisolated func renewed(_ identity: DeviceIdentity) async throws { try await keep(identity) }

    private func extend(
        _ notification: ReceivedNotification,
        _ content: NotificationContent,
        _ app: any App,
        wakesApp: Bool,
    ) async {
        let changed = await TimeLimit.run(Self.extensionTime, clock) {
            await app.modified(content, of: notification)
        }
        // If the extension removed the text, it has failed, so the original content is shown.
        showOrDrop(notification, changed.flatMap { $0.hasAlert ? $0 : nil } ?? content, wakesApp: wakesApp)
    }

    /// Shows what the user allows. If nothing is shown and the app is not woken either, the notification counts as
    /// dropped.
    private func showOrDrop(_ notification: ReceivedNotification, _ content: NotificationContent, wakesApp: Bool) {
        guard !show(notification, content), !wakesApp else { return }
        report(.dropped(notification, state.reasonForNothing(of: notification)))
    }

    private func wake(_ app: any App, _ notification: ReceivedNotification) async {
        let result = await TimeLimit.run(Self.backgroundTime, clock) { await app.woken(by: notification) }
        report(.woken(notification, result ?? .timedOut))
    }

    /// Shows a notification.
    /// - Returns: Whether the user notices anything.
    @discardableResult
    func show(
        _ notification: ReceivedNotification,
        _ content: NotificationContent,
        _ presentation: Presentation = .all,
    ) -> Bool {
        let noticed = state.show(notification, content, presentation)
        if let shown = noticed.shown { report(.shown(shown)) }
        if let badge = noticed.badge { report(.badge(badge, bundleID: notification.bundleID)) }
        if let sound = noticed.sound { report(.sound(sound, bundleID: notification.bundleID)) }
        return !noticed.isNothing
    }
}
