package import Notifications
package import Storage

/// The broadcast channels, their subscribers, and the newest broadcast of each channel that keeps one.
///
/// The items of a batch are independent, and each has its own result, in the order of the request. If an operation
/// checks something before it writes, it does both in one atomic step.
package protocol Channels: Sendable {
    /// Creates channels, and checks in the same step that the app has not too many channels in this environment.
    /// - Parameter limit: the largest number of channels of one list.
    /// - Returns: ``StoreError/Code/conflict`` for a channel that would be one too many, or ``StoreError/Code/exists``.
    func create(_ channels: [BroadcastChannel], limit: Int) async -> [Result<Void, StoreError>]

    /// Returns the channels with these names; nil for one that does not exist.
    func channels(_ keys: [ChannelKey]) async throws(StoreError) -> [BroadcastChannel?]

    /// Returns the channels of an app in the order of their identifiers' bytes.
    /// - Parameters:
    ///   - id: the page begins after this identifier, whether there is such a channel or not; nil for the first page.
    ///   - limit: the largest number of channels.
    func channels(
        of list: ChannelList,
        after id: ChannelID?,
        limit: Int,
    ) async throws(StoreError) -> [BroadcastChannel]

    /// Removes channels with their stored broadcasts. Nobody is subscribed to them any more.
    /// - Returns: Whether there was such a channel.
    func remove(_ keys: [ChannelKey]) async -> [Result<Bool, StoreError>]

    /// Stores each broadcast in place of the channel's older one, if the channel exists. Returns when it would survive a
    /// crash. Storing the same broadcast again does no harm. A shared store leaves a broadcast that another node has stored
    /// since this one was accepted (``BroadcastEntry/waited``).
    /// - Returns: ``StoreError/Code/missing`` if there is no such channel, or ``StoreError/Code/conflict`` if the channel keeps
    ///   one that may be newer.
    func store(_ broadcasts: [BroadcastEntry]) async -> [Result<BroadcastVersion, StoreError>]

    /// Returns the stored broadcasts of the channels; nil for a channel without one. Some may have expired.
    func stored(_ keys: [ChannelKey]) async throws(StoreError) -> [StoredBroadcast?]

    /// Subscribes apps on devices. The same step checks that the registration is active, that the channel exists, and
    /// that the app on the device has not too many subscriptions. If a subscription exists already, it stays as it
    /// is.
    /// - Parameter limit: the largest number of subscriptions of one app on one device.
    /// - Returns: ``StoreError/Code/ended(at:)``, ``StoreError/Code/missing`` or ``StoreError/Code/conflict``.
    func subscribe(
        _ subscriptions: [Subscription],
        limit: Int,
        at moment: Timestamp,
    ) async -> [Result<Void, StoreError>]

    /// Ends subscriptions. One that does not exist counts as ended. The end of a registration ends its subscriptions
    /// too
    /// (``Registrations/end(_:at:)``), and so does a renewal of the device's tokens.
    func unsubscribe(_ subscriptions: [Subscription]) async -> [Result<Void, StoreError>]

    /// Records which broadcasts devices have acknowledged. Nothing changes if a newer version is recorded already, or
    /// if the subscription has ended.
    func mark(_ seen: [SeenBroadcast]) async -> [Result<Void, StoreError>]

    /// Whether the device may have subscriptions; false only if it certainly has none. Answers from memory, because
    /// this is asked each time a device connects.
    func maySubscribe(_ device: DeviceKey) -> Bool

    /// Returns the channels that a device is subscribed to and that exist, in any order.
    func subscriptions(of device: DeviceKey) async throws(StoreError) -> [SubscribedChannel]

    /// Removes stored broadcasts that expired before this time, subscriptions to removed channels, and all channels
    /// and subscriptions of apps that are not in the accounts. Removes at most `limit` of these together.
    /// - Returns: The number of removed items; less than `limit` if there are no more.
    func removeLeftovers(before moment: Timestamp, limit: Int) async throws(StoreError) -> Int
}

extension StoreError {
    /// The app has as many channels as it may have.
    package static func tooManyChannels(_ limit: Int) -> StoreError {
        StoreError(.conflict, "The app has \(limit) channels already; delete some first.")
    }

    /// The app on the device has as many subscriptions as it may have.
    package static func tooManySubscriptions(_ limit: Int) -> StoreError {
        StoreError(.conflict, "The app is subscribed to \(limit) channels on this device already; end some first.")
    }

    package static func noChannel(_ id: ChannelID) -> StoreError {
        StoreError(.missing, "The app has no channel \(id) in this environment.")
    }

    package static func channelExists(_ id: ChannelID) -> StoreError {
        StoreError(.exists, "The app has a channel \(id) already.")
    }
}
