/// The content of a notification: its texts in the user's language, its sound, its badge and how much it interrupts
/// (Guide, Tables 9-1 and 9-2, and later keys).
public struct NotificationContent: Sendable, Hashable {
    /// The degree to which a notification may interrupt the user.
    public enum InterruptionLevel: String, Sendable, Hashable {
        /// The notification is added to the notification centre without a banner or a sound.
        case passive
        case active
        case timeSensitive = "time-sensitive"
        case critical
    }

    /// The sound of a notification.
    public struct Sound: Sendable, Hashable {
        /// The name of the default sound, which is also played if the app does not have the file.
        public static let defaultName = "default"

        /// The name of a sound file of the app, or `default`.
        public var name: String
        /// Whether the sound plays even when the device is muted.
        public var isCritical: Bool
        /// The volume, from 0 to 1.
        public var volume: Double

        /// Creates a sound.
        public init(name: String, isCritical: Bool = false, volume: Double = 1) {
            self.name = name
            self.isCritical = isCritical
            self.volume = volume
        }
    }

    /// The title; empty if there is none.
    public var title = ""
    /// The subtitle; empty if there is none.
    public var subtitle = ""
    /// The text; empty if there is none.
    public var body = ""
    /// The app's new badge. nil leaves it unchanged, 0 removes it.
    public var badge: Int?
    /// The sound; nil if there is none.
    public var sound: Sound?
    /// The identifier that groups notifications of an app; empty if there is none.
    public var threadID = ""
    /// The notification's category, which determines its actions.
    public var category: String?
    /// The image that is shown while the app starts after the user opened it with this notification.
    public var launchImage: String?
    /// The title of the button that opens the app.
    public var actionTitle: String?
    /// The window that comes to the front when the user opens the app with this notification.
    public var targetContentID: String?
    /// The text that a Focus filter compares.
    public var filterCriteria: String?
    /// The degree to which the notification may interrupt the user.
    public var interruptionLevel = InterruptionLevel.active
    /// The rank in its group, from 0 to 1. The notification with the highest score is shown first.
    public var relevanceScore = 0.0

    /// Creates empty content.
    public init() {}

    /// Whether the notification has a text to show.
    public var hasAlert: Bool { !(title.isEmpty && subtitle.isEmpty && body.isEmpty) }
}
