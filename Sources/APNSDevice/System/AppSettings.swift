/// What the user lets an app's notifications do: "the notification settings for your app on the user's device determine
/// whether an alert or banner is displayed" (Guide, Table 9-1).
public struct AppSettings: Sendable, Hashable {
    /// How an alert is displayed.
    public enum AlertStyle: String, Sendable, Hashable, CaseIterable {
        /// Not at all.
        case off
        /// Goes away by itself.
        case banner
        /// Stays until the user closes it, with two buttons: one closes it, the other opens the app (Guide, Table 9-2,
        /// `action-loc-key`).
        case alert
    }

    public var alerts: AlertStyle
    /// Whether sounds are played.
    public var sounds: Bool
    /// Whether the app's icon has a badge.
    public var badges: Bool

    public init(alerts: AlertStyle = .banner, sounds: Bool = true, badges: Bool = true) {
        self.alerts = alerts
        self.sounds = sounds
        self.badges = badges
    }

    /// What of a notification the user lets through.
    var allowed: Presentation {
        var allowed: Presentation = []
        if alerts != .off { allowed.insert(.banner) }
        if sounds { allowed.insert(.sound) }
        if badges { allowed.insert(.badge) }
        return allowed
    }
}
