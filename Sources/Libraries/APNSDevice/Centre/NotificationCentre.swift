import Notifications

/// The notifications that a device shows, and the apps' badges. It is a value, so a user interface can draw it.
public struct NotificationCentre: Sendable, Hashable {
    /// The largest number of notifications. One more replaces the oldest. Nobody reads as many, and it limits the
    /// memory.
    public static let maximumCount = 500

    /// The notifications of one app with the same thread identifier.
    public struct Group: Sendable, Hashable {
        /// The bundle ID of the app.
        public let bundleID: String
        /// The thread identifier; empty if the notifications have none.
        public let threadID: String
        /// The notifications of the group, the most relevant first (`relevance-score`), then the newest.
        public let notifications: [ShownNotification]
        /// The number of the newest notification in the group.
        fileprivate let newest: UInt64

        fileprivate init(bundleID: String, threadID: String, _ notifications: [ShownNotification]) {
            self.bundleID = bundleID
            self.threadID = threadID
            self.notifications = notifications.sorted {
                ($0.content.relevanceScore, $0.number) > ($1.content.relevanceScore, $1.number)
            }
            newest = notifications.map(\.number).max() ?? 0
        }
    }

    /// All notifications, the newest first.
    public private(set) var notifications: [ShownNotification] = []
    private var badges: [String: Int] = [:]
    private var lastNumber: UInt64 = 0

    /// Creates an empty notification centre.
    public init() {}

    /// Shows a notification. It replaces an earlier one of the same app with the same collapse identifier (Guide,
    /// 2.1.3).
    public mutating func show(_ shown: ShownNotification) {
        notifications.removeAll { other in
            guard other.bundleID == shown.bundleID else { return false }
            let collapses = shown.notification.collapseID.map { other.notification.collapseID.isSame(as: $0) } ?? false
            return collapses || other.id == shown.id
        }
        var shown = shown
        lastNumber += 1
        shown.number = lastNumber
        notifications.insert(shown, at: 0)
        if notifications.count > Self.maximumCount { notifications.removeLast() }
    }

    /// Removes a notification.
    /// - Returns: The removed notification; nil if it was not shown.
    @discardableResult
    public mutating func remove(_ id: ShownNotification.ID) -> ShownNotification? {
        notifications.firstIndex { $0.id == id }.map { notifications.remove(at: $0) }
    }

    /// Removes all notifications of an app and its badge, because the app was removed from the device.
    public mutating func removeAll(of bundleID: String) {
        notifications.removeAll { $0.bundleID == bundleID }
        badges[bundleID] = nil
    }

    /// Returns the app's badge, or 0 if it has none.
    public func badge(of bundleID: String) -> Int { badges[bundleID] ?? 0 }

    /// Changes the app's badge. nil leaves it unchanged, 0 removes it (Guide, Table 9-1).
    public mutating func setBadge(_ badge: Int?, of bundleID: String) {
        guard let badge else { return }
        badges[bundleID] = badge > 0 ? badge : nil
    }

    /// The notifications grouped by app and thread. The group with the newest notification comes first.
    public var groups: [Group] {
        struct Key: Hashable {
            let bundleID: String
            let threadID: ExactText
        }
        let byKey = Dictionary(grouping: notifications) {
            Key(bundleID: $0.bundleID, threadID: ExactText($0.content.threadID))
        }
        return byKey.map { Group(bundleID: $0.bundleID, threadID: $0.threadID.text, $1) }
            .sorted { $0.newest > $1.newest }
    }
}
