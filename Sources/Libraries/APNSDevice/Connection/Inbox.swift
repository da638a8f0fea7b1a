import DequeModule

/// The notifications that have arrived and that the app has not taken yet.
struct Inbox {
    /// The number of notifications at which the courier is made to wait. It is the number that the courier has under
    /// way to a device by default, so this happens only if the courier's limit is greater or not enforced.
    static let highMark = 1000
    /// The number of notifications at which the courier may continue.
    static let lowMark = 500

    private var notifications = Deque<ReceivedNotification>()
    /// Whether a task is handing a notification to the app.
    var isTaking = false
    private(set) var isFull = false

    mutating func append(_ notification: ReceivedNotification) {
        notifications.append(notification)
        if notifications.count >= Self.highMark { isFull = true }
    }

    mutating func popFirst() -> ReceivedNotification? { notifications.popFirst() }

    /// Returns whether the courier may continue after it was made to wait. Returns true only once.
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
