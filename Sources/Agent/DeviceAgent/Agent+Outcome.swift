import APNSDevice
import Logging
import Storage

extension Agent {
    /// What a notification means for its app and its user.
    struct Outcome: Sendable {
        /// The events for the app.
        var events: [JSONLine] = []
        /// What the user sees; nil for nothing, also if the user does not want to be disturbed by it.
        var shown: ShownNotification?
        /// The app's new badge; 0 removes it.
        var badge: Int?
    }

    /// A change of the screen.
    enum ScreenChange: Sendable {
        case alert(ShownNotification)
        /// The badge of this app has changed.
        case badge(String)
    }

    /// Decides what a notification means, and changes the notification centre.
    func outcome(of notification: ReceivedNotification) -> Outcome {
        let bundleID = notification.bundleID
        // Only the app can read its body, so it gets the message whatever its state is, and the user sees nothing of it.
        if notification.webPush != nil {
            guard records[bundleID] != nil else {
                dropped[.notInstalled, default: 0] += 1
                return Outcome()
            }
            return Outcome(events: [EventLine.webPush(notification)])
        }
        switch state.delivery(of: notification) {
        case .drop(let reason):
            dropped[reason, default: 0] += 1
            return Outcome()
        case .giveToApp(let content):
            return Outcome(events: [EventLine.received(notification, content)])
        case .giveToService(let service, let content):
            // A call starts an app that the user has ended.
            if service == .voip { launch(bundleID) }
            var outcome = content.map { show(notification, $0) } ?? Outcome()
            outcome.events.insert(EventLine.pushed(notification, service), at: 0)
            return outcome
        case .changeActivities(let content):
            var outcome = content.map { show(notification, $0) } ?? Outcome()
            outcome.events.insert(EventLine.pushed(notification, .liveActivity), at: 0)
            return outcome
        case .show(let content, _, let wakesApp):
            var outcome = show(notification, content)
            if wakesApp { outcome.events.append(EventLine.woken(notification)) }
            if outcome.events.isEmpty { dropped[state.reasonForNothing(of: notification), default: 0] += 1 }
            return outcome
        case .wake:
            return Outcome(events: [EventLine.woken(notification)])
        }
    }

    private func show(_ notification: ReceivedNotification, _ content: NotificationContent) -> Outcome {
        let noticed = state.show(notification, content)
        guard !noticed.isNothing else { return Outcome() }
        guard let shown = noticed.shown else {
            return Outcome(events: [EventLine.noticed(notification, noticed)], badge: noticed.badge)
        }
        // Focus lets these two levels through (docs/current-apns.md).
        let level = shown.content.interruptionLevel
        let isHeldBack = isQuiet && level != .timeSensitive && level != .critical
        var line = EventLine.shown(shown)
        if isHeldBack { line.add("quiet", value: true) }
        return Outcome(events: [line], shown: isHeldBack ? nil : shown, badge: noticed.badge)
    }

    /// Starts an app that the user has ended.
    func launch(_ bundleID: String) {
        state.launch(bundleID)
        guard records[bundleID]?.isForceQuit == true else { return }
        records[bundleID]?.isForceQuit = false
        launched.insert(bundleID)
    }

    /// Stores that an app was started, if it was.
    func keepLaunch(of bundleID: String) {
        guard launched.remove(bundleID) != nil, let record = records[bundleID] else { return }
        do {
            try store.keep(record, of: bundleID)
        } catch {
            // After a restart of the agent the app is ended again, until it registers.
            logger.error("The state of an app cannot be stored", metadata: ["cause": "\(error.cause)"])
        }
    }
}
