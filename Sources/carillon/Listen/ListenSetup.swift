import APNSDevice

/// What the options say of the apps on a device that listens, and of its user.
struct ListenSetup: Sendable {
    var bundleIDs: [String]
    /// The preferred one first.
    var languages: [String]
    var strings: Localizations
    /// The names of the apps' sound files; nil if they are not known.
    var sounds: Set<String>?
    var categories: [NotificationCategory]
    var settings: AppSettings
    /// The state that each app begins in.
    var state: AppState
}
