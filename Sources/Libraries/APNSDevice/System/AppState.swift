/// The state of an app on the device.
public enum AppState: String, Sendable, Hashable, CaseIterable {
    /// The app is installed and was never opened. It has no device token yet (Guide, 2.1: "launched at least once").
    case neverLaunched = "never-launched"
    /// The user sees the app.
    case foreground
    /// The app is not visible: it is suspended or not running.
    case background
    /// The user has ended the app. Its code does not run until the user opens it again or a call comes. The system still
    /// shows its notifications (Guide, 2.1: "with the app not running, the system can still display the notification"),
    /// and changes its Live Activities.
    case forceQuit = "force-quit"
}

/// The reason why a notification reaches neither the app nor the user.
public enum DropReason: String, Sendable, Hashable, CaseIterable {
    /// The app is not on the device.
    case notInstalled = "not-installed"
    /// The user has never opened the app.
    case neverLaunched = "never-launched"
    /// The user has ended the app, and the notification has nothing to show.
    case forceQuit = "force-quit"
    /// The user has switched off all that the notification has: its alert, its sound and its badge.
    case switchedOff = "switched-off"
    /// The notification has no alert, sound or badge, and does not wake the app. Or it is for a Live Activity, and its
    /// event is missing or unknown, or something that the event needs is missing, such as its timestamp.
    case nothingToShow = "nothing-to-show"
    /// It is for a Live Activity that is not on the device, or has ended.
    case noActivity = "no-activity"
    /// It starts a Live Activity, but it came through a channel, or with a Live Activity's own device token. Only the
    /// device token of the app's service `liveactivity`, and here the app's own, start one.
    case cannotStart = "cannot-start"
    /// It updates or ends a Live Activity, but it came with the device token that only starts them.
    case cannotUpdate = "cannot-update"
    /// The Live Activity has a newer content state.
    case outdated
    /// The app's Live Activities have had too many updates of priority 10, or there are too many Live Activities.
    case overBudget = "over-budget"
}
