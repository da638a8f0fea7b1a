/// The user's settings for an app's notifications: "the notification settings for your app on the user's device
/// determine whether an alert or banner is displayed" (Guide, Table 9-1).
public struct AppSettings: Sendable, Hashable {
    /// The style of an app's alerts.
    public enum AlertStyle: String, Sendable, Hashable, CaseIterable {
        /// Alerts are not shown.
        case off
        /// The alert disappears by itself.
        case banner
        /// The alert stays until the user closes it. It has two buttons: one closes it, the other opens the app
        /// (Guide, Table 9-2, `action-loc-key`).
        case alert
    }

    /// The style of the app's alerts.
    public var alerts: AlertStyle
    /// Whether sounds are played.
    public var sounds: Bool
    /// Whether the app's icon shows a badge.
    public var badges: Bool

    /// Creates settings.
    public init(alerts: AlertStyle = .banner, sounds: Bool = true, badges: Bool = true) {
        self.alerts = alerts
        self.sounds = sounds
        self.badges = badges
    }

    /// The parts of a notification that the user allows.
    var allowed: Presentation {
        var allowed: Presentation = []
        if alerts != .off { allowed.insert(.banner) }
        if sounds { allowed.insert(.sound) }
        if badges { allowed.insert(.badge) }
        return allowed
    }
}
