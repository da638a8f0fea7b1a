public import Foundation

/// A Live Activity that a device shows (Apple, *Starting and updating Live Activities with ActivityKit push
/// notifications*).
public struct LiveActivity: Sendable, Hashable, Identifiable {
    /// How a Live Activity gets its updates.
    public enum UpdateSource: Sendable, Hashable {
        /// Only from the app itself.
        case app
        /// By pushes to a device token of its own.
        case token
        /// By broadcasts to the channel with this identifier.
        case channel(String)
    }

    /// A change that the user can see.
    public enum Change: String, Sendable, Hashable, CaseIterable {
        /// It is on show for the first time.
        case started
        /// Its content state has changed.
        case updated
        /// Its stale date has passed, so the app draws it as outdated.
        case stale
        /// It has ended, and is still on show with its last content state.
        case ended
        /// It is no longer on show.
        case dismissed
    }

    /// The longest time that a Live Activity is active. The system ends it then.
    public static let longestActive: TimeInterval = 8 * 60 * 60
    /// The longest time that an ended Live Activity stays on show.
    public static let longestShownAfterEnd: TimeInterval = 4 * 60 * 60

    /// The identifier, which the device chooses.
    public let id: UUID
    /// The app's bundle ID.
    public let bundleID: String
    /// The name of the app's attributes type.
    public let attributesType: String
    /// The attributes, which never change: a JSON dictionary in UTF-8.
    public let attributes: [UInt8]
    /// How it gets its updates.
    public let updates: UpdateSource
    /// When it started.
    public let started: Date
    /// The content state: a JSON dictionary in UTF-8.
    public internal(set) var contentState: [UInt8]
    /// The provider's time of the content state. An older state is ignored.
    public internal(set) var timestamp: Date
    /// When the content state is outdated.
    public internal(set) var staleDate: Date?
    /// Whether the stale date has passed.
    public internal(set) var isStale = false
    /// The rank among the app's Live Activities: the one with the highest is shown first.
    public internal(set) var relevanceScore = 0.0
    /// When it ended; nil if it is active.
    public internal(set) var ended: Date?
    /// When it is no longer shown; nil if it is active.
    public internal(set) var dismissal: Date?

    /// Whether it can still be updated.
    public var isActive: Bool { ended == nil }

    /// The next time at which it changes by itself.
    var due: Date {
        if let dismissal { return dismissal }
        let end = started + Self.longestActive
        guard let staleDate, !isStale else { return end }
        return min(staleDate, end)
    }
}
