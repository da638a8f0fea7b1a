import APNSDevice

/// What the options say about the apps on a listening device, and about its user.
struct ListenSetup: Sendable {
    var bundleIDs: [String]
    /// The broadcast channels that the only app is subscribed to.
    var channels: [String] = []
    /// The services whose device tokens each app asks for.
    var services: [PushService] = []
    /// Whether each app begins a Live Activity.
    var beginsActivity = false
    /// The user's languages, the preferred one first.
    var languages: [String]
    var strings: Localizations
    /// The names of the apps' sound files; nil if they are not known.
    var sounds: Set<String>?
    var categories: [NotificationCategory]
    var settings: AppSettings
    /// The first state of each app.
    var state: AppState
}
