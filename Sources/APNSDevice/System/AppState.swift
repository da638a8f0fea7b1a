/// In which state an app on the device is.
public enum AppState: String, Sendable, Hashable, CaseIterable {
    /// Installed, and never opened: it has no device token yet (Guide, 2.1: "launched at least once").
    case neverLaunched = "never-launched"
    case foreground
    /// Not seen: suspended, or not running.
    case background
    /// The user ended it. Its code is not run until the user opens it again; the system still shows its notifications
    /// (Guide, 2.1: "with the app not running, the system can still display the notification").
    case forceQuit = "force-quit"
}

/// Why neither the app nor the user gets a notification.
public enum DropReason: String, Sendable, Hashable, CaseIterable {
    case notInstalled = "not-installed"
    case neverLaunched = "never-launched"
    /// It has nothing to show, and the app's code is not run.
    case forceQuit = "force-quit"
    /// The user has switched off all that it has to show, play or count.
    case switchedOff = "switched-off"
    /// It has no alert, sound or badge, and does not ask for the app to be woken.
    case nothingToShow = "nothing-to-show"
}
