/// Where the life of each notification is written down.
///
/// `Delivery` and the switchboard record what they decide, gateways what they reject themselves, and a store what leaves
/// its mailboxes otherwise than by a removal it was asked for: what is replaced, has expired, or was an app's that is
/// gone.
package protocol DeliveryLog: Sendable {
    /// Takes an event. Called on any thread, under locks too; it never waits. Under overload it may lose events, which
    /// it counts.
    func record(_ event: DeliveryEvent)
}

/// A log that keeps nothing.
package struct NoDeliveryLog: DeliveryLog {
    package init() {}
    package func record(_ event: DeliveryEvent) {}
}
