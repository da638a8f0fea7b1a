public import Foundation

/// The `aps` dictionary of a payload, which tells the system on the device what to do with the notification (Guide,
/// Table 9-1, and the keys that came later).
///
/// Each property is one key. A property that is nil is left out.
///
/// ```swift
/// APS(alert: "You got your emails.", badge: 9, sound: .named("bingbong.aiff"))
/// ```
public struct APS: Sendable {
    /// The alert or banner to show (`alert`).
    public var alert: Alert?
    /// The number on the app's icon; 0 removes it.
    public var badge: Int?
    /// The sound to play (`sound`).
    public var sound: Sound?
    /// The app's own identifier for grouping notifications (`thread-id`).
    public var threadID: String?
    /// The notification's type, one of the categories that the app registered (`category`). It needs an alert
    /// (Guide, 2.2.3).
    public var category: String?
    /// Whether the notification wakes the app in the background (`content-available`). If this is true and there is
    /// no alert, badge or sound, the notification is silent (Guide, 2.2.2).
    public var contentAvailable = false
    /// Whether the app's service extension may change the notification before it is shown (`mutable-content`).
    public var mutableContent = false
    /// The identifier of the window that is brought forward (`target-content-id`).
    public var targetContentID: String?
    /// The degree to which the notification may interrupt the user (`interruption-level`).
    public var interruptionLevel: InterruptionLevel?
    /// The rank of the notification in a summary, from 0 to 1, or of a Live Activity among the app's Live Activities,
    /// any number (`relevance-score`). The highest score comes first.
    public var relevanceScore: Double?
    /// The text that a Focus filter compares (`filter-criteria`).
    public var filterCriteria: String?
    /// Whether the app's widgets or controls have new content and are to be drawn again (`content-changed`; Apple,
    /// *Updating widgets with WidgetKit push notifications*). For the push types ``PushType/widgets`` and
    /// ``PushType/controls``.
    public var contentChanged = false
    /// The keys of a Live Activity's notification.
    public var liveActivity: LiveActivity?
    /// Keys that this library has no property for, such as keys that the service introduces later.
    ///
    /// A payload with a key here that a property already writes is refused with
    /// ``ProviderError/Code/badNotification``.
    public var other: [String: JSONValue] = [:]

    /// The degree to which a notification may interrupt the user.
    public enum InterruptionLevel: String, Sendable, Hashable, CaseIterable {
        /// Adds the notification to the list without lighting up the screen.
        case passive
        /// Lights up the screen and may play a sound. The default.
        case active
        /// Is shown even if a Focus is on.
        case timeSensitive = "time-sensitive"
        /// Plays a sound even when the device is muted. The app needs Apple's permission for this.
        case critical
    }

    /// An `aps` dictionary with the given keys.
    public init(
        alert: Alert? = nil,
        badge: Int? = nil,
        sound: Sound? = nil,
        threadID: String? = nil,
        category: String? = nil,
        contentAvailable: Bool = false,
        mutableContent: Bool = false,
        targetContentID: String? = nil,
        interruptionLevel: InterruptionLevel? = nil,
        relevanceScore: Double? = nil,
        filterCriteria: String? = nil,
        contentChanged: Bool = false,
        liveActivity: LiveActivity? = nil,
        other: [String: JSONValue] = [:],
    ) {
        self.alert = alert
        self.badge = badge
        self.sound = sound
        self.threadID = threadID
        self.category = category
        self.contentAvailable = contentAvailable
        self.mutableContent = mutableContent
        self.targetContentID = targetContentID
        self.interruptionLevel = interruptionLevel
        self.relevanceScore = relevanceScore
        self.filterCriteria = filterCriteria
        self.contentChanged = contentChanged
        self.liveActivity = liveActivity
        self.other = other
    }

    /// New content for the app's widgets: they are drawn again.
    public static var widgetsChanged: APS { APS(contentChanged: true) }

    /// A silent notification: it wakes the app, and shows and plays nothing (Guide, 2.2.2).
    public static var silent: APS { APS(contentAvailable: true) }
}

extension APS {
    /// The keys of a Live Activity's notification (Apple, *Starting and updating Live Activities with ActivityKit push
    /// notifications*).
    public struct LiveActivity: Sendable {
        /// A change of a Live Activity.
        public enum Event: String, Sendable, Hashable, CaseIterable {
            /// Starts a Live Activity, with a push-to-start token.
            case start
            /// Updates it, with its own token or by its channel.
            case update
            /// Ends it. It stays on show for up to four hours, or until the dismissal date.
            case end
        }

        /// How the Live Activity that a push starts gets its updates.
        public enum UpdateSource: Sendable, Hashable {
            /// By a device token of its own, which the app then sends to its provider (`input-push-token`).
            case token
            /// By broadcasts to the channel with this identifier (`input-push-channel`).
            case channel(String)
        }

        /// The change of the Live Activity (`event`).
        public var event: Event
        /// The time of this state, sent in whole seconds. The device ignores a state that is older than the one it
        /// has.
        public var timestamp: Date
        /// The content that the Live Activity shows, in the form that the app's `ContentState` decodes.
        public var contentState: (any Encodable & Sendable)?
        /// The time from which the state is outdated.
        public var staleDate: Date?
        /// The time at which an ended Live Activity disappears. A time that has passed removes it at once. Devices
        /// remove it four hours after its end at the latest.
        public var dismissalDate: Date?
        /// The name of the app's attributes type; needed to start a Live Activity.
        public var attributesType: String?
        /// The attributes; needed to start a Live Activity.
        public var attributes: (any Encodable & Sendable)?
        /// How a Live Activity that this push starts gets its updates; nil lets the app decide. Only for
        /// ``Event/start``.
        public var updates: UpdateSource?

        /// The keys of a Live Activity's notification.
        ///
        /// A payload with ``Event/start`` needs `contentState`, `attributesType` and `attributes`, and no other event
        /// may have `updates`. Otherwise making the payload fails with ``ProviderError/Code/badNotification``.
        public init(
            event: Event,
            timestamp: Date,
            contentState: (any Encodable & Sendable)? = nil,
            staleDate: Date? = nil,
            dismissalDate: Date? = nil,
            attributesType: String? = nil,
            attributes: (any Encodable & Sendable)? = nil,
            updates: UpdateSource? = nil,
        ) {
            self.event = event
            self.timestamp = timestamp
            self.contentState = contentState
            self.staleDate = staleDate
            self.dismissalDate = dismissalDate
            self.attributesType = attributesType
            self.attributes = attributes
            self.updates = updates
        }
    }
}
