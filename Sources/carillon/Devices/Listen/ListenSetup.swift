import APNSDevice

/// The apps on a listening device and its user, as the options describe them.
struct ListenSetup: Sendable {
    var bundleIDs: [String]
    /// The broadcast channels that the app is subscribed to. There is only one app then.
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
    /// The state in which each app begins.
    var state: AppState
}
