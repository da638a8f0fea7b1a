package import APNSDevice
package import Notifications

/// What an app says of itself when it registers.
package struct AppRegistration: Codable, Sendable, Hashable {
    /// The services whose device tokens the app wants.
    package var services: [String]?
    /// The broadcast channels that it is subscribed to.
    package var channels: [String]?
    package var categories: [NotificationCategory]?
    /// The app's texts: of each language, the text of each key.
    package var localizations: [String: [ExactText: String]]?
    /// The settings until the user changes them.
    package var settings: AppSettingsDocument?
}

/// The settings for an app as JSON. What is missing does not change.
package struct AppSettingsDocument: Codable, Sendable, Hashable {
    package var alerts: String?
    package var sounds: Bool?
    package var badges: Bool?

    package init(_ settings: AppSettings) {
        alerts = settings.alerts.rawValue
        sounds = settings.sounds
        badges = settings.badges
    }

    package init(alerts: String? = nil, sounds: Bool? = nil, badges: Bool? = nil) {
        (self.alerts, self.sounds, self.badges) = (alerts, sounds, badges)
    }

    /// The settings with the changes of this document.
    package func applied(to settings: AppSettings) -> AppSettings {
        var settings = settings
        if let alerts = alerts.flatMap(AppSettings.AlertStyle.init(rawValue:)) { settings.alerts = alerts }
        settings.sounds = sounds ?? settings.sounds
        settings.badges = badges ?? settings.badges
        return settings
    }
}

/// What the agent keeps of an app that has registered.
struct AppRecord: Codable, Sendable, Hashable {
    var registration: AppRegistration
    var token: String
    /// The device tokens of its services.
    var services: [String: String]
    /// The settings that the user has changed; nil if the app's own apply.
    var settings: AppSettingsDocument?
    /// Whether the user has ended the app.
    var isForceQuit = false

    /// The settings that apply.
    var currentSettings: AppSettings {
        let own = registration.settings?.applied(to: AppSettings()) ?? AppSettings()
        return settings?.applied(to: own) ?? own
    }

    var localizations: Localizations {
        Localizations((registration.localizations ?? [:]).mapValues { StringsTable($0) })
    }
}
