package import Rates

/// The named limits of broadcast channels, each with the reason for its value.
package struct ChannelLimits: Sendable, Hashable {
    /// The largest number of channels of an app in one environment: what APNs documents (docs/channels.md). 0 switches
    /// channels off.
    package var channelsPerApp = 10_000

    /// The largest number of channels that one app on one device is subscribed to. A device shows a few Live Activities
    /// at a time, and each has one channel.
    package var subscriptionsPerApp = 100

    /// The rate of broadcasts to one channel. Each may go to every device of an app, and a person does not read more
    /// than a few a second.
    package var broadcastsPerChannel = Rate(burst: 100, perSecond: 10)

    /// The largest number of unacknowledged broadcasts under way to one device. Beyond it, a device gets the newest
    /// stored one of each channel when it has caught up, and the others not at all.
    package var unacknowledgedPerDevice = 32
    /// The most that ``unacknowledgedPerDevice`` may be, for the reason of ``DeliveryLimits/mostUnacknowledged``.
    package static let mostUnacknowledged = 10_000

    /// The time for which a channel keeps its newest broadcast, if it does not expire before. Apps show a Live Activity
    /// for eight hours (docs/channels.md).
    package var retention = Duration.seconds(8 * 60 * 60)

    /// The largest number of expired or left over rows that one sweep removes at a time, so that it never blocks the
    /// store for long.
    package var sweepBatch = 500

    /// The interval between two sweeps. Nothing expired is ever delivered, even before it is removed.
    package var sweepInterval = Duration.seconds(60)

    /// How many broadcasts of other nodes may wait for this node's devices: 6 MB at most. Beyond it, a stored one comes
    /// from the store, and another one not at all.
    package var waitingFromNodes = 1000

    /// How long after its acceptance a broadcast may be passed to a store that other nodes use. Beyond it, the answer is
    /// ServiceUnavailable, because a newer broadcast may be stored already. The reason for
    /// the value is that of ``DeliveryLimits/promptStoring``.
    package var promptStoring = DeliveryLimits().promptStoring

    /// How often a node asks a shared store what other nodes have changed: as often as for announcements of notifications.
    package var newsInterval = Duration.milliseconds(250)

    /// The largest number of changes that a node reads at once. Each may have a payload of 5 KB.
    package var newsBatch = 100

    package init() {}

    package static let settings: [LimitSetting<ChannelLimits>] = [
        LimitSetting(
            .channels, "broadcast channels of one app in one environment", 0...1_000_000, \.channelsPerApp, .count),
        LimitSetting(
            .subscriptions, "channels that one app on one device is subscribed to", 1...100_000, \.subscriptionsPerApp,
            .count),
        LimitSetting(
            .broadcastRate, "broadcasts a second to one channel", .rates, \.broadcastsPerChannel.perSecond, .perSecond),
        LimitSetting(
            "broadcast-burst", "broadcasts at once to one channel", .bursts, \.broadcastsPerChannel.burst, .count),
        LimitSetting(
            "broadcast-retention", "hours that a channel keeps its newest broadcast", 1...720, \.retention, .hours),
        LimitSetting(
            .unacknowledgedBroadcasts, "unacknowledged broadcasts to one connected device",
            1...Double(mostUnacknowledged), \.unacknowledgedPerDevice, .count),
    ]
}

extension Limit {
    /// ``ChannelLimits/channelsPerApp``: the answer is CannotCreateChannelConfig.
    package static let channels = Limit("channels")
    /// ``ChannelLimits/subscriptionsPerApp``: the answer is TooManyRequests.
    package static let subscriptions = Limit("subscriptions")
    /// ``ChannelLimits/broadcastsPerChannel``: the answer is TooManyRequests.
    package static let broadcastRate = Limit("broadcast-rate")
    /// ``ChannelLimits/unacknowledgedPerDevice``: the device misses broadcasts.
    package static let unacknowledgedBroadcasts = Limit("unacknowledged-broadcasts")
    /// ``ChannelLimits/waitingFromNodes``: this node's devices miss a broadcast that is not stored.
    package static let nodeBroadcasts = Limit("node-broadcasts")

    package static let ofChannels: [Limit] = [
        .channels, .subscriptions, .broadcastRate, .unacknowledgedBroadcasts, .nodeBroadcasts,
    ]
}
