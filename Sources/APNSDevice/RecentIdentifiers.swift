import DequeModule

/// The identifiers of the newest notifications, so that one that is sent again is not shown again.
package struct RecentIdentifiers: Sendable {
    /// As many as the service has under way to a device at most.
    static let maximumCount = 1000

    private var order = Deque<String>()
    private var identifiers: Set<String> = []

    package init() {}

    /// - Returns: Whether the identifier is new.
    package mutating func insert(_ identifier: String) -> Bool {
        guard identifiers.insert(identifier).inserted else { return false }
        order.append(identifier)
        if order.count > Self.maximumCount, let oldest = order.popFirst() { identifiers.remove(oldest) }
        return true
    }
}
