import Foundation

/// The Live Activities of a device. Pushes, the time and apps change them. It is a value, so a user interface can draw
/// it.
public struct LiveActivities: Sendable, Hashable {
    /// The largest number of Live Activities, which limits the memory. A device shows only a few.
    public static let maximumCount = 100

    /// How many updates of priority 10 the Live Activities of an app may have in an hour. Updates of priority 5 do not
    /// count. Apple says that there is such a budget, and that `NSSupportsLiveActivitiesFrequentUpdates` raises it, but
    /// does not say the numbers. This library chose these numbers itself.
    public enum Budget: Int, Sendable, Hashable, CaseIterable {
        case standard = 60
        /// For apps with frequent updates.
        case frequent = 600
    }

    /// The result of a push.
    enum Outcome: Sendable, Hashable {
        case changed(LiveActivity, LiveActivity.Change)
        case ignored(DropReason)

        var isChange: Bool { if case .changed = self { true } else { false } }
    }

    private var activities: [UUID: LiveActivity] = [:]
    private var budgets: [String: Budget] = [:]
    /// The times of the updates of priority 10 in the last hour, by app.
    private var spent: [String: [Date]] = [:]

    /// Creates a device without Live Activities.
    public init() {}

    /// An app's Live Activities, the most relevant first, then the newest.
    public func shown(of bundleID: String) -> [LiveActivity] {
        activities.values.filter { $0.bundleID == bundleID }.sorted {
            ($0.relevanceScore, $0.started, $0.id.uuidString) > ($1.relevanceScore, $1.started, $1.id.uuidString)
        }
    }

    /// The number of Live Activities on show.
    public var count: Int { activities.count }

    /// The next time at which a Live Activity changes by itself; nil if none does.
    var due: Date? { activities.values.map(\.due).min() }

    /// Whether a channel updates an active Live Activity of the app.
    func uses(_ channel: String, of bundleID: String) -> Bool {
        activities.values.contains { $0.bundleID == bundleID && $0.isActive && $0.updates == .channel(channel) }
    }

    mutating func change(_ budget: Budget, of bundleID: String) { budgets[bundleID] = budget }

    /// Removes the Live Activities of an app that was removed.
    mutating func removeAll(of bundleID: String) {
        activities = activities.filter { $0.value.bundleID != bundleID }
        budgets[bundleID] = nil
        spent[bundleID] = nil
    }

    /// Removes all Live Activities of a device that was reset.
    mutating func removeAll() {
        activities = [:]
        spent = [:]
    }

    /// Starts a Live Activity of an app.
    /// - Returns: nil if the device already has ``maximumCount`` Live Activities.
    mutating func start(_ activity: LiveActivity) -> LiveActivity? {
        guard activities.count < Self.maximumCount else { return nil }
        activities[activity.id] = activity
        return activity
    }

    // MARK: Pushes

    /// Carries out a push.
    /// - Parameter id: the identifier of a Live Activity that it starts.
    mutating func receive(_ notification: ReceivedNotification, id: UUID, at now: Date) -> [Outcome] {
        guard let push = ActivityPush(notification.payload) else { return [.ignored(.nothingToShow)] }
        if let reason = push.refusal(of: notification) { return [.ignored(reason)] }
        if push.event == .start { return [start(push, notification.bundleID, id: id, at: now)] }
        let targets = targets(of: notification)
        guard !targets.isEmpty else { return [.ignored(.noActivity)] }
        if push.event == .update, notification.priority >= 10, !spend(notification.bundleID, at: now) {
            return [.ignored(.overBudget)]
        }
        return targets.map { change($0, push, at: now) }
    }

    private mutating func start(_ push: ActivityPush, _ bundleID: String, id: UUID, at now: Date) -> Outcome {
        guard let beginning = push.beginning else { return .ignored(.nothingToShow) }
        var activity = LiveActivity(
            id: id, bundleID: bundleID, attributesType: beginning.attributesType, attributes: beginning.attributes,
            updates: push.updates, started: now, contentState: beginning.contentState,
            timestamp: push.timestamp ?? now.wholeSecond)
        activity.staleDate = push.staleDate
        activity.relevanceScore = push.relevanceScore ?? 0
        guard let started = start(activity) else { return .ignored(.overBudget) }
        return .changed(started, .started)
    }

    /// Returns the Live Activities that a push is for. If the push used a Live Activity's own device token, it is for
    /// that one. If it came through a channel, it is for those that the channel updates. If it used the app's own device
    /// token, it is for all Live Activities of the app.
    private func targets(of notification: ReceivedNotification) -> [LiveActivity] {
        shown(of: notification.bundleID).filter { activity in
            guard activity.isActive else { return false }
            if let name = notification.activity { return UUID(uuidString: name) == activity.id }
            if let channel = notification.channel { return activity.updates == .channel(channel) }
            return true
        }
    }

    private mutating func spend(_ bundleID: String, at now: Date) -> Bool {
        let recent = spent[bundleID, default: []].filter { $0 > now - 60 * 60 }
        spent[bundleID] = recent
        guard recent.count < (budgets[bundleID] ?? .standard).rawValue else { return false }
        spent[bundleID]?.append(now)
        return true
    }

    private mutating func change(_ activity: LiveActivity, _ push: ActivityPush, at now: Date) -> Outcome {
        var activity = activity
        guard push.timestamp ?? now >= activity.timestamp else { return .ignored(.outdated) }
        activity.timestamp = push.timestamp ?? now.wholeSecond
        activity.contentState = push.contentState ?? activity.contentState
        activity.relevanceScore = push.relevanceScore ?? activity.relevanceScore
        activity.staleDate = push.staleDate
        activity.isStale = push.staleDate.map { $0 <= now } ?? false
        guard push.event == .end else {
            activities[activity.id] = activity
            return .changed(activity, .updated)
        }
        let change = end(&activity, dismissal: push.dismissalDate, at: now)
        return .changed(activity, change)
    }

    private mutating func end(_ activity: inout LiveActivity, dismissal: Date?, at now: Date) -> LiveActivity.Change {
        let latest = now + LiveActivity.longestShownAfterEnd
        activity.ended = now
        activity.dismissal = min(dismissal ?? latest, latest)
        guard dismissal.map({ $0 <= now }) ?? false else {
            activities[activity.id] = activity
            return .ended
        }
        activities[activity.id] = nil
        return .dismissed
    }

    // MARK: Time

    /// Makes the changes that are due, such as the end of a Live Activity.
    mutating func tick(at now: Date) -> [(LiveActivity, LiveActivity.Change)] {
        var changes: [(LiveActivity, LiveActivity.Change)] = []
        for var activity in activities.values.filter({ $0.due <= now }).sorted(by: { $0.due < $1.due }) {
            if activity.dismissal != nil {
                activities[activity.id] = nil
                changes.append((activity, .dismissed))
            } else if activity.started + LiveActivity.longestActive <= now {
                let change = end(&activity, dismissal: nil, at: now)
                changes.append((activity, change))
            } else {
                activity.isStale = true
                activities[activity.id] = activity
                changes.append((activity, .stale))
            }
        }
        return changes
    }
}

extension Date {
    /// The whole second in which this time is. If the device chooses the time of a state, it uses this one: providers
    /// send whole seconds, rounded down, so an update in the same second must not count as older.
    var wholeSecond: Date { Date(timeIntervalSince1970: timeIntervalSince1970.rounded(.down)) }
}
