/// Records the life of each notification.
///
/// `Delivery` and the switchboard record their decisions, and the provider APIs record what they reject. A store records what
/// leaves its mailboxes other than by a requested removal: notifications that are replaced, expire, or belong to a
/// removed app.
package protocol DeliveryLog: Sendable {
    /// Records an event. Called on any thread, also under locks, so it never waits. Under overload it may lose
    /// events, which it counts.
    func record(_ event: DeliveryEvent)
}

/// A log that records nothing.
package struct NoDeliveryLog: DeliveryLog {
    package init() {}
    package func record(_ event: DeliveryEvent) {}
}
