package import Notifications

/// The direct way to other nodes. It is faster than the store, and it may fail at any time: what it does not take is
/// stored and announced. Called on any thread; it never waits and never calls back.
package protocol PeerRoutes: AnyObject, Sendable {
    /// What this node's offers are named by.
    var origin: OfferOrigin { get }

    /// Sends an offer to the node that is said to hold the device. A node's offers to a device, and what it says that it
    /// has stored for it, arrive in the order of the calls.
    /// - Parameter epoch: the node's hold on the device, as far as this node knows.
    /// - Returns: Whether the offer is on its way; its outcome is then reported to the ``PeerReceiver`` once, unless it
    ///   has no identifier.
    func offer(_ offer: Offer, epoch: UInt64, to node: NodeID) -> Bool

    /// Tells the node what was stored, so that it need not wait for the announcement.
    func stored(_ entry: StoredMailboxEntry, offer: OfferID?, epoch: UInt64, to node: NodeID)

    /// Tells another node the outcome of its offer.
    func report(_ outcome: PeerOutcome, of offer: OfferID)

    /// Refuses offers for these destinations that other nodes have sent before this call, and that arrive after it. Something
    /// newer has come through the store. A connection that stalls would otherwise bring the older notification later. An offer
    /// with a single attempt waits for nothing, so it is refused only if its registration may have ended.
    /// - Parameters:
    ///   - destinations: nil for all destinations.
    ///   - isEnded: whether the registrations have ended. Then what was stored for them before does not count either.
    func refuseEarlier(for destinations: [Destination]?, isEnded: Bool)

    /// Sends a broadcast to all nodes that can be reached, once to each. If it is stored, the others find it in the store.
    func broadcast(_ broadcast: PeerBroadcast)
}

/// A broadcast on its way to another node.
package struct PeerBroadcast: Sendable, Hashable {
    package let channel: ChannelKey
    package let notification: Notification
    /// The version in the store; nil if the broadcast is not stored.
    package let version: BroadcastVersion?

    package init(channel: ChannelKey, notification: Notification, version: BroadcastVersion?) {
        self.channel = channel
        self.notification = notification
        self.version = version
    }
}

/// What has become of an offer at another node.
package enum PeerOutcome: UInt8, Sendable, Hashable, CaseIterable {
    /// The device has taken the notification.
    case acknowledged = 0
    /// The notification may not have arrived, or waits for a reason to wake the device.
    case returned = 1
    /// The node does not hold the device in this epoch.
    case elsewhere = 2
}

/// Receives what other nodes send. Called on any thread.
package protocol PeerReceiver: AnyObject, Sendable {
    /// Another node offers a notification.
    /// - Returns: nil if the outcome is reported later, with ``PeerRoutes/report(_:of:)``.
    func offered(_ offer: Offer, epoch: UInt64) -> PeerOutcome?

    /// Another node's offer has come too late (``PeerRoutes/refuseEarlier(for:isEnded:)``).
    func refused(_ offer: Offer)

    /// Another node has stored a notification.
    func stored(_ entry: StoredMailboxEntry, offer: OfferID?, epoch: UInt64)

    /// Another node has sent a broadcast.
    func broadcast(_ broadcast: PeerBroadcast)

    /// The outcome of an own offer, also if the other node can no longer be reached.
    func ended(_ offer: OfferID, of destination: Destination, _ outcome: PeerOutcome)
}
