import DequeModule

/// The notifications that came and that the app has not taken yet.
struct Inbox {
    /// From here on the courier is asked to wait: as many as it has under way to a device by default, so that it
    /// is asked only where its limit is greater, or not kept.
    static let highMark = 1000
    /// From here on it may go on.
    static let lowMark = 500

    private var notifications = Deque<ReceivedNotification>()
    /// Whether a task is giving one to the app.
    var isTaking = false
    private(set) var isFull = false

    mutating func append(_ notification: ReceivedNotification) {
        notifications.append(notification)
        if notifications.count >= Self.highMark { isFull = true }
    }

    mutating func popFirst() -> ReceivedNotification? { notifications.popFirst() }

    /// Whether the courier may go on after it was asked to wait; said once.
    mutating func hasRoomAgain() -> Bool {
        guard isFull, notifications.count <= Self.lowMark else { return false }
        isFull = false
        return true
    }

    mutating func removeAll() {
        notifications = []
        isFull = false
    }
}
