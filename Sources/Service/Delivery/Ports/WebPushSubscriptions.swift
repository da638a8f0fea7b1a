package import Notifications
package import Storage

/// The Web Push subscriptions of apps on devices.
///
/// Their queues are mailboxes (``Mailboxes``) of their own: at most ``MailboxBound/subscription``, whatever the app keeps. A
/// subscription ends with its registration, in the same step, and its queue with it.
package protocol WebPushSubscriptions: Sendable {
    /// Returns the subscriptions with these endpoints, in their order; nil for one that does not exist.
    /// - Parameter digests: the hashes of the endpoints.
    func subscriptions(with digests: [[UInt8]]) async throws(StoreError) -> [WebPushSubscription?]

    /// Subscribes, if the app is registered on the device. If the app has a subscription of this name already, that one
    /// keeps its destination and its endpoint, and gets the VAPID key, or none, and ``WebPushSubscription/isPlain``.
    /// - Parameters:
    ///   - subscription: what to store if there is none. Its destination has a number that was never used: a random one.
    ///   - limit: the largest number of subscriptions of an app on a device.
    /// - Returns: What is stored.
    /// - Throws: ``StoreError/Code/ended(at:)`` if the app is not registered, ``StoreError/Code/conflict`` if it would be one
    ///   too many.
    func subscribe(_ subscription: WebPushSubscription, limit: Int) async throws(StoreError) -> WebPushSubscription

    /// Returns the subscriptions of an app on a device, in the order of their names' bytes.
    func subscriptions(of app: Destination) async throws(StoreError) -> [WebPushSubscription]

    /// Ends a subscription and empties its queue, in one step. What is being stored at the same time does not stay behind
    /// (``Mailboxes/store(_:)``).
    /// - Returns: What ended; nil if there is no such subscription.
    func endSubscription(_ name: String, of app: Destination) async throws(StoreError) -> WebPushSubscription?
}

extension StoreError {
    /// The subscription has ended. A late message of it is refused as one to an app that was removed.
    package static func noSubscription(at moment: Timestamp) -> StoreError {
        StoreError(.ended(at: moment), "The subscription has ended.")
    }

    package static func tooManyWebPushSubscriptions(_ limit: Int) -> StoreError {
        StoreError(.conflict, "The app has \(limit) subscriptions on this device already; end some first.")
    }
}
