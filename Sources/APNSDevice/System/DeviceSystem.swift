/// What stands between a device and its apps: the system. It registers the apps, gives them what is theirs, shows the
/// rest, and lets the user respond (Guide, 2.1.4.4 and 2.2).
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
    /// What happened that can be seen or heard, or that a test wants to know.
    public enum Event: Sendable, Hashable {
        /// A notification is shown, or shown anew in place of an earlier one; quietly where it is passive.
        case shown(ShownNotification)
        case sound(NotificationContent.Sound, bundleID: String)
        case badge(Int, bundleID: String)
        /// The app in the foreground was given it.
        case givenToApp(ReceivedNotification)
        /// The app was woken, and what came of it.
        case woken(ReceivedNotification, BackgroundResult)
        /// It was handed to the method of the app that is for this service.
        case pushed(ReceivedNotification, PushService)
        /// The user opened the app with this notification: the system shows its launch image, and the app the window of its
        /// `target-content-id`.
        case opened(with: ShownNotification)
        /// The user looked closely at a notification.
        case expanded(ShownNotification, NotificationView)
        /// Neither the app nor the user gets it, for this reason.
        case dropped(ReceivedNotification, DropReason)
        /// The user prefers other languages.
        case languagesChanged([String])
        /// An app has another device token than at its last launch.
        case deviceTokenChanged(bundleID: String, deviceToken: String)
        case stateChanged(Device.State)
        case problem(DeviceError)
    }

    /// How long an app has in the background for a silent notification (Guide, 2.2.2).
    public static let backgroundTime = Duration.seconds(30)
    /// How long a notification service extension has.
    public static let extensionTime = Duration.seconds(30)

    private var state: SystemState
    private var apps: [String: any App] = [:]
    private var categories: [String: [NotificationCategory]] = [:]
    private var tokens: [String: String] = [:]
    private var device: Device?
    private let clock: any Clock<Duration>
    private let keep: @Sendable (DeviceIdentity) async throws -> Void
    private let report: @Sendable (Event) -> Void

    /// - Parameters:
    ///   - languages: the user's, the preferred one first.
    ///   - clock: measures what apps and extensions may take.
    ///   - report: is told what happened, in order; it has to return soon.
    ///   - keep: puts a renewed identity in place of the old one.
    public init(
        languages: [String] = ["en"],
        clock: any Clock<Duration> = ContinuousClock(),
        report: @escaping @Sendable (Event) -> Void = { _ in },
        keep: @escaping @Sendable (DeviceIdentity) async throws -> Void = { _ in
            throw DeviceError(.storage, "Nobody keeps renewed identities here.")
        },
    ) {
        state = SystemState(languages: languages)
        self.clock = clock
        self.keep = keep
        self.report = report
    }

    /// Names the device whose delegate this is.
    public func use(_ device: Device) { self.device = device }

    /// What is on show.
    public var centre: NotificationCentre { state.centre }

    // MARK: Apps

    /// Puts an app on the device. Nothing comes for it before it was opened once.
    /// - Parameters:
    ///   - bundleID: the app's.
    ///   - app: gets what comes for it.
    ///   - localizations: its strings.
    ///   - sounds: the names of its sound files, in its bundle and its `Library/Sounds` folder; the default sound is played
    ///     for any other (Guide, Table 9-1). Nil if they are not known: then every name counts.
    ///   - wasLaunched: whether it was opened before, in an earlier run of this program: it is in the background then.
    ///   - categories: what it registered at that launch.
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

    /// Whether the app is on the device.
    public func hasInstalled(_ bundleID: String) -> Bool { apps[bundleID] != nil }

    /// In which state an app is; nil for one that is not on the device.
    public func state(of bundleID: String) -> AppState? { state.life(of: bundleID) }

    /// What the user lets an app's notifications do; nil for one that is not on the device.
    public func settings(of bundleID: String) -> AppSettings? { state.settings(of: bundleID) }

    /// The user changes what an app's notifications may do.
    public func change(_ settings: AppSettings, of bundleID: String) { state.change(settings, of: bundleID) }

    /// The user's languages, the preferred one first.
    public var languages: [String] { state.languages }

    /// The user prefers other languages. What comes from now on is shown in them, and each app that runs is told; one that
    /// does not run is told at its next launch (Guide, 2.2.4.1).
    public func change(languages: [String]) async {
        guard languages != state.languages else { return }
        state.languages = languages
        report(.languagesChanged(languages))
        for bundleID in state.running {
            if let app = apps[bundleID] { await app.userPrefers(languages: languages) }
        }
    }

    /// The user opens an app: at a launch it registers, and gets its device token.
    /// - Parameters:
    ///   - bundleID: the app's.
    ///   - categories: what the app registers at its launch.
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

    /// The user turns to something else.
    public func enterBackground(_ bundleID: String) { state.enterBackground(bundleID) }

    /// The user ends an app: its code is not run until it is opened again, and the system shows its alerts all the same.
    public func forceQuit(_ bundleID: String) { state.forceQuit(bundleID) }

    /// The user removes an app: its device token is no longer active.
    public func remove(_ bundleID: String) async throws(DeviceError) {
        guard state.remove(bundleID) else { return }
        apps[bundleID] = nil
        tokens[bundleID] = nil
        try await device?.unregister(bundleID)
    }

    /// The device is erased or restored: all device tokens change, and each app has to be opened once.
    public func reset() async throws(DeviceError) {
        try await device?.reset()
        state.reset()
    }

    // MARK: The user

    /// The user does something with a notification on show.
    /// - Returns: Whether it was on show and has that action.
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

    /// The user looks closely at a notification on show. If its category has a content extension, the extension draws
    /// it; else, or if the extension takes more than 30 seconds, the system shows all of its text.
    /// - Returns: What is seen; nil when it is not on show.
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
            report(.pushed(notification, service))
            if let content { show(notification, content) }
            // The push is safe here: it need not wait for the app to be acknowledged.
            Task { [clock] in
                await TimeLimit.run(Self.backgroundTime, clock) { await app.received(notification, for: service) }
            }
        case .show(let content, let isMutable, let wakesApp):
            if isMutable, let app {
                // The notification is safe here: it need not wait for the extension to be acknowledged.
                Task { await extend(notification, content, app, wakesApp: wakesApp) }
            } else {
                showOrDrop(notification, content, wakesApp: wakesApp)
            }
            if wakesApp, let app { Task { await wake(app, notification) } }
        case .wake:
            if let app { Task { await wake(app, notification) } }
        }
    }

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
        // An extension that takes the text away has failed: what came is shown.
        showOrDrop(notification, changed.flatMap { $0.hasAlert ? $0 : nil } ?? content, wakesApp: wakesApp)
    }

    /// Shows what the user allows. If that is nothing and the app is not woken either, the notification is reported as
    /// dropped.
    private func showOrDrop(_ notification: ReceivedNotification, _ content: NotificationContent, wakesApp: Bool) {
        guard !show(notification, content), !wakesApp else { return }
        report(.dropped(notification, state.reasonForNothing(of: notification)))
    }

    private func wake(_ app: any App, _ notification: ReceivedNotification) async {
        let result = await TimeLimit.run(Self.backgroundTime, clock) { await app.woken(by: notification) }
        report(.woken(notification, result ?? .timedOut))
    }

    /// - Returns: Whether the user notices anything.
    @discardableResult
    private func show(
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
