package import Notifications
package import Rates

/// The named limits of `Delivery`, each with the reason for its value.
package struct DeliveryLimits: Sendable, Hashable {
    /// The time for which a notification is stored for a device that is offline: up to 30 days
    /// (docs/current-apns.md).
    package var retention = Duration.seconds(30 * 24 * 60 * 60)

    /// How long a connected device may take to acknowledge before its notification is also written to disk. A device
    /// that is awake answers within one round trip. The provider waits for its answer meanwhile, so the time is
    /// short.
    package var acknowledgementGrace = Duration.milliseconds(50)

    /// The largest number of unacknowledged notifications that are under way to one device. Beyond it, the newest
    /// notification for each app waits in its mailbox.
    package var unacknowledgedPerDevice: Int
    /// The most that ``unacknowledgedPerDevice`` may be. A device keeps the acknowledgements
    /// of so many notifications and broadcasts while it has no connection, and the courier reads so many in one line.
    package static let mostUnacknowledged = 10_000

    /// The largest number of notifications of priority 5 or less that wait for a connected device with low power:
    /// more than a person reads at a time, and at most 400 KB. If half of ``unacknowledgedPerDevice`` is less, that
    /// is the limit. Beyond it, the newest notification for each app waits in its mailbox.
    package var deferredPerDevice = 100

    /// The rate of requests for one device token. A person cannot read more, and a faulty provider must not empty a
    /// device's battery.
    package var requestsPerDeviceToken = Rate(burst: 1000, perSecond: 100)

    /// The interval between two bursts of notifications that wait because the device's power is low (Guide, Table
    /// 8-2: grouped and delivered in bursts). It is long enough for the device's radio to sleep, and short enough for
    /// news.
    package var burstInterval = Duration.seconds(30)

    /// The rate of silent notifications of an app on a device: a few an hour (Guide, 2.2.2).
    package var silentsPerApp = Rate(burst: 3, perSecond: 3 / 3600)

    /// The largest number of notifications that wait for the store in one of ``shards``. Beyond it the answer is
    /// ServiceUnavailable, so that a slow disk slows acceptance and does not fill the memory.
    package var pendingStoresPerShard = 4096

    /// The largest number of notifications of one of ``shards`` in one batch for the store. Others wait for the next
    /// batch. A batch of all shards is half of what the embedded store accepts at once, whatever
    /// ``pendingStoresPerShard`` is, and takes the store a third of a second.
    package var storesPerBatch = 512

    /// How long after its acceptance a notification may first be passed to a store that other nodes use, and still replace
    /// whatever the mailbox holds. Longer than a store under load takes, and shorter than providers wait before they send
    /// again through another node. A node that is later was stopped, or cannot keep up (``MailboxEntry/age``).
    package var promptStoring = Duration.seconds(2)

    /// The pause before a notification is stored again whose mailbox another transaction holds. The store has waited
    /// already, so the transaction is a long one, and each attempt delays the other notifications of its batch.
    package var lockedPause = Duration.milliseconds(250)

    /// How long a notification waits for a mailbox that another transaction holds. Then the answer is
    /// ServiceUnavailable. Less than the time for which most providers wait for an answer.
    package var maximumLockWait = Duration.seconds(8)

    /// The largest number of expired notifications that one sweep removes at a time, so that it never blocks the
    /// store for long.
    package var sweepBatch = 1000

    /// The largest number of registrations of deleted apps that are removed at a time, so that it never blocks the
    /// store for long.
    package var removalBatch = 1000

    /// The largest number of mailboxes that are made to fit into a lower bound at a time, so that it never blocks the store
    /// for long: each may lose a thousand notifications.
    package var fittingBatch = 10

    /// The interval between two sweeps, which look for nothing most of the time. Expired notifications are never delivered, even
    /// before they are removed; but until then the log and the journal do not say so, and they count in the mailbox.
    package var sweepInterval = Duration.seconds(1)

    package init(unacknowledgedPerDevice: Int = 1000) {
        self.unacknowledgedPerDevice = unacknowledgedPerDevice
    }

    /// The number of shards that divide the state by device, each with its own lock. There are enough that two
    /// threads seldom compete for one.
    package static let shards = 16
}

extension DeliveryLimits {
    /// ``pendingStoresPerShard`` of all shards together.
    private var pendingStores: Int {
        get { pendingStoresPerShard * Self.shards }
        set { pendingStoresPerShard = max(1, newValue / Self.shards) }
    }

    package static let settings: [LimitSetting<DeliveryLimits>] = [
        LimitSetting(
            .tokenRate, "requests a second to one device token", .rates, \.requestsPerDeviceToken.perSecond, .perSecond),
        LimitSetting(
            "token-burst", "requests at once to one device token", .bursts, \.requestsPerDeviceToken.burst, .count),
        LimitSetting(
            .unacknowledged, "unacknowledged notifications to one connected device",
            1...Double(mostUnacknowledged), \.unacknowledgedPerDevice, .count),
        LimitSetting(
            .deferred, "notifications that wait for a connected device whose power is low", 0...100_000,
            \.deferredPerDevice, .count),
        LimitSetting(
            "burst-interval", "seconds between bursts of notifications of priority 5", 1...86_400, \.burstInterval,
            .seconds),
        LimitSetting(
            .silentRate, "silent notifications an hour for one app on one device", .rates, \.silentsPerApp.perSecond,
            .perHour),
        LimitSetting(
            "silent-burst", "silent notifications at once for one app on one device", .bursts, \.silentsPerApp.burst,
            .count),
        LimitSetting(
            "acknowledgement-grace", "milliseconds that a connected device has to acknowledge", 1...10_000,
            \.acknowledgementGrace, .milliseconds),
        LimitSetting(
            "retention", "days that a notification is kept for a device that is offline", 1...3650, \.retention, .days),
        LimitSetting(
            .pendingStores, "notifications that may wait for the disk", 16...10_000_000, \.pendingStores, .count),
    ]
}

/// The limits of ``DeliveryLimits`` that refuse or delay something.
extension Limit {
    /// ``DeliveryLimits/requestsPerDeviceToken``: the answer is TooManyRequests.
    package static let tokenRate = Limit("token-rate")
    /// ``DeliveryLimits/pendingStoresPerShard``: the answer is ServiceUnavailable.
    package static let pendingStores = Limit("pending-stores")
    /// ``DeliveryLimits/unacknowledgedPerDevice``: the newest for each app waits in its mailbox.
    package static let unacknowledged = Limit("unacknowledged")
    /// ``DeliveryLimits/deferredPerDevice``: the newest for each app waits in its mailbox.
    package static let deferred = Limit("deferred")
    /// ``DeliveryLimits/silentsPerApp``: the newest waits in its mailbox.
    package static let silentRate = Limit("silent-rate")
    /// The rate or the daily number of a grant, which the provider API and Web Push enforce.
    package static let grantRate = Limit("grant-rate")

    package static let ofDelivery: [Limit] = [.tokenRate, .pendingStores, .unacknowledged, .deferred, .silentRate]
}

extension DeliveryLimits {
    /// Returns the time at which a notification expires; nil if it must not be stored: with expiration 0 or a date
    /// in the past it gets one attempt (Guide, Table 8-2).
    package func expiry(of notification: Notification, now: Timestamp) -> Timestamp? {
        let retained = now.advanced(by: retention)
        switch notification.expiration {
        case .unspecified: return retained
        case .immediately: return nil
        case .at(let seconds):
            let moment = Timestamp(seconds: seconds)
            return moment > now ? min(moment, retained) : nil
        }
    }
}
