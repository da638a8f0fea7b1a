public import Foundation

/// The `aps` dictionary of a payload: what the system does with the notification on the device (Guide, Table 9-1, and
/// the keys that came later).
///
/// Each property is one key, and what is nil is left out.
///
/// ```swift
/// APS(alert: "You got your emails.", badge: 9, sound: .named("bingbong.aiff"))
/// ```
public struct APS: Sendable {
    /// Shows an alert or a banner.
    public var alert: Alert?
    /// The number on the app's icon; 0 removes it.
    public var badge: Int?
    /// Plays a sound.
    public var sound: Sound?
    /// The app's own identifier for grouping notifications.
    public var threadID: String?
    /// The notification's type, one of the app's registered categories. It needs an alert (Guide, 2.2.3).
    public var category: String?
    /// Wakes the app in the background. With this and without alert, badge and sound the notification is silent
    /// (Guide, 2.2.2).
    public var contentAvailable = false
    /// Lets the app's extension change the notification before it is shown.
    public var mutableContent = false
    /// The window that is brought forward.
    public var targetContentID: String?
    /// How much the notification may interrupt.
    public var interruptionLevel: InterruptionLevel?
    /// From 0 to 1: the greatest stands first in a summary.
    public var relevanceScore: Double?
    /// What a Focus filter compares.
    public var filterCriteria: String?
    /// What a Live Activity shows.
    public var liveActivity: LiveActivity?
    /// Keys that this library has no property for: those that the service gains after it. A key that a property writes
    /// does not belong here.
    public var other: [String: JSONValue] = [:]

    /// How much a notification may interrupt.
    public enum InterruptionLevel: String, Sendable, Hashable, CaseIterable {
        /// Goes to the list without lighting up the screen.
        case passive
        /// Lights up the screen and may sound. The default.
        case active
        /// Breaks through a Focus.
        case timeSensitive = "time-sensitive"
        /// Sounds even when the device is muted. Needs Apple's leave.
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
        self.liveActivity = liveActivity
        self.other = other
    }

    /// A silent notification: it wakes the app, and shows and plays nothing (Guide, 2.2.2).
    public static var silent: APS { APS(contentAvailable: true) }
}

extension APS {
    /// The keys of a Live Activity's notification.
    public struct LiveActivity: Sendable {
        /// What happens to the activity.
        public enum Event: String, Sendable, Hashable, CaseIterable {
            case start, update, end
        }

        /// What happens to the activity.
        public var event: Event
        /// When this state was made: the device drops an older one than it has. Whole seconds go out.
        public var timestamp: Date
        /// What the activity shows, as the app's `ContentState` decodes it.
        public var contentState: (any Encodable & Sendable)?
        /// When the state is outdated.
        public var staleDate: Date?
        /// When an ended activity disappears.
        public var dismissalDate: Date?
        /// To start an activity: the name of the app's attributes type.
        public var attributesType: String?
        /// To start an activity: its attributes.
        public var attributes: (any Encodable & Sendable)?

        /// The keys of a Live Activity's notification.
        public init(
            event: Event,
            timestamp: Date,
            contentState: (any Encodable & Sendable)? = nil,
            staleDate: Date? = nil,
            dismissalDate: Date? = nil,
            attributesType: String? = nil,
            attributes: (any Encodable & Sendable)? = nil,
        ) {
            self.event = event
            self.timestamp = timestamp
            self.contentState = contentState
            self.staleDate = staleDate
            self.dismissalDate = dismissalDate
            self.attributesType = attributesType
            self.attributes = attributes
        }
    }
}
