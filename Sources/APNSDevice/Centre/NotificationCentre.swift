/// What is on show on a device, and the apps' badges: a value that can be drawn.
public struct NotificationCentre: Sendable, Hashable {
    /// How many are on show at most; the oldest goes. Nobody reads as many, and it bounds the memory.
    public static let maximumCount = 500

    /// The notifications of one app with the same thread identifier.
    public struct Group: Sendable, Hashable {
        public let bundleID: String
        /// Empty for those without one.
        public let threadID: String
        /// The most relevant first (`relevance-score`), and of equals the newest.
        public let notifications: [ShownNotification]
        /// When the newest was put on show.
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

    /// The newest first.
    public private(set) var notifications: [ShownNotification] = []
    private var badges: [String: Int] = [:]
    private var lastNumber: UInt64 = 0

    public init() {}

    /// Puts a notification on show, in place of the one with the same collapse identifier on the same app
    /// (Guide, 2.1.3).
    public mutating func show(_ shown: ShownNotification) {
        notifications.removeAll { other in
            guard other.bundleID == shown.bundleID else { return false }
            let collapses = shown.notification.collapseID.map { $0 == other.notification.collapseID } ?? false
            return collapses || other.id == shown.id
        }
        var shown = shown
        lastNumber += 1
        shown.number = lastNumber
        notifications.insert(shown, at: 0)
        if notifications.count > Self.maximumCount { notifications.removeLast() }
    }

    /// Takes a notification away.
    /// - Returns: nil where it was not on show.
    @discardableResult
    public mutating func remove(_ id: ShownNotification.ID) -> ShownNotification? {
        notifications.firstIndex { $0.id == id }.map { notifications.remove(at: $0) }
    }

    /// Takes away all that is on show of an app, its badge too: it was removed from the device.
    public mutating func removeAll(of bundleID: String) {
        notifications.removeAll { $0.bundleID == bundleID }
        badges[bundleID] = nil
    }

    /// The app's badge; 0 for none.
    public func badge(of bundleID: String) -> Int { badges[bundleID] ?? 0 }

    /// Changes the app's badge: nil leaves it as it is, 0 takes it away (Guide, Table 9-1).
    public mutating func setBadge(_ badge: Int?, of bundleID: String) {
        guard let badge else { return }
        badges[bundleID] = badge > 0 ? badge : nil
    }

    /// By app and thread, the group with the newest notification first.
    public var groups: [Group] {
        struct Key: Hashable {
            let bundleID, threadID: String
        }
        let byKey = Dictionary(grouping: notifications) {
            Key(bundleID: $0.bundleID, threadID: $0.content.threadID)
        }
        return byKey.map { Group(bundleID: $0.bundleID, threadID: $0.threadID, $1) }
            .sorted { $0.newest > $1.newest }
    }
}
