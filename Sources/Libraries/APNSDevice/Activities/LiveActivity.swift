public import Foundation

/// A Live Activity that a device shows (Apple, *Starting and updating Live Activities with ActivityKit push
/// notifications*).
public struct LiveActivity: Sendable, Hashable, Identifiable {
    /// The source of a Live Activity's updates.
    public enum UpdateSource: Sendable, Hashable {
        /// Only the app itself updates it.
        case app
        /// Pushes to its own device token update it.
        case token
        /// Broadcasts to the channel with this identifier update it.
        case channel(String)
    }

    /// A change that the user can see.
    public enum Change: String, Sendable, Hashable, CaseIterable {
        /// The Live Activity is shown for the first time.
        case started
        /// Its content state has changed.
        case updated
        /// Its stale date has passed, so the app draws it as outdated.
        case stale
        /// The Live Activity has ended. Its last content state is still shown.
        case ended
        /// It is no longer on show.
        case dismissed
    }

    /// The longest time that a Live Activity is active. Then the system ends it.
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
    /// The source of its updates.
    public let updates: UpdateSource
    /// When it started.
    public let started: Date
    /// The content state: a JSON dictionary in UTF-8.
    public internal(set) var contentState: [UInt8]
    /// The time that the provider gave the content state. An older state is ignored.
    public internal(set) var timestamp: Date
    /// The time from which the content state is outdated.
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
