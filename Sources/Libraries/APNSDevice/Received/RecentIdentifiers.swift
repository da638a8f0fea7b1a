import DequeModule
import Notifications

/// The identifiers of the newest notifications, so that a notification that is sent again is not shown again.
struct RecentIdentifiers: Sendable {
    private let capacity: Int
    private var order = Deque<NotificationID>()
    private var identifiers: Set<NotificationID> = []

    init(capacity: Int) { self.capacity = max(1, capacity) }

    var all: Deque<NotificationID> { order }

    func contains(_ identifier: NotificationID) -> Bool { identifiers.contains(identifier) }

    /// Inserts an identifier.
    /// - Returns: Whether the identifier is new.
    @discardableResult
    mutating func insert(_ identifier: NotificationID) -> Bool {
        guard identifiers.insert(identifier).inserted else { return false }
        order.append(identifier)
        if order.count > capacity, let oldest = order.popFirst() { identifiers.remove(oldest) }
        return true
    }

    func contains(_ identifier: String) -> Bool {
        NotificationID(identifier).map(contains) ?? false
    }

    /// Inserts an identifier.
    /// - Returns: Whether the identifier is new. A text that is not a UUID always counts as new.
    @discardableResult
    mutating func insert(_ identifier: String) -> Bool {
        NotificationID(identifier).map { insert($0) } ?? true
    }
}
