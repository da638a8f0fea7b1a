/// What is shown of a notification: its texts in the user's language, and how it makes itself felt (Guide, Tables 9-1
/// and 9-2, and what has come since).
public struct NotificationContent: Sendable, Hashable {
    /// How much a notification may disturb.
    public enum InterruptionLevel: String, Sendable, Hashable {
        /// Put into the notification centre without a banner or a sound.
        case passive
        case active
        case timeSensitive = "time-sensitive"
        case critical
    }

    /// What is heard.
    public struct Sound: Sendable, Hashable {
        /// The name of the default sound, which is played for a file that the app does not have too.
        public static let defaultName = "default"

        /// A sound file of the app's, or `default`.
        public var name: String
        /// Heard although the device is muted.
        public var isCritical: Bool
        /// From 0 to 1.
        public var volume: Double

        public init(name: String, isCritical: Bool = false, volume: Double = 1) {
            self.name = name
            self.isCritical = isCritical
            self.volume = volume
        }
    }

    public var title = ""
    public var subtitle = ""
    public var body = ""
    /// What the app's badge becomes; nil leaves it as it is, 0 takes it away.
    public var badge: Int?
    /// Nil for none.
    public var sound: Sound?
    /// Groups notifications of an app; empty for none.
    public var threadID = ""
    /// Which of the app's categories, and so which actions.
    public var category: String?
    /// The image that is shown while the app starts, when the user opens it with this notification.
    public var launchImage: String?
    /// The title of the button that opens the app.
    public var actionTitle: String?
    /// The window that comes forward, when the user opens the app with this notification.
    public var targetContentID: String?
    /// What a Focus filter compares.
    public var filterCriteria: String?
    public var interruptionLevel = InterruptionLevel.active
    /// From 0 to 1. The notification with the greatest score is shown first in its group.
    public var relevanceScore = 0.0

    public init() {}

    /// Whether there is something to read.
    public var hasAlert: Bool { !(title.isEmpty && subtitle.isEmpty && body.isEmpty) }
}
