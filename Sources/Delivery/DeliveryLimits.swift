package import Notifications
package import Rates

/// The named bounds of `Delivery`, each with the reason for its value.
package struct DeliveryLimits: Sendable, Hashable {
    /// How long a notification is kept for a device that is offline: up to 30 days (docs/current-apns.md).
    package var retention = Duration.seconds(30 * 24 * 60 * 60)

    /// How long a connected device may take to acknowledge before the notification is written to disk as well. A
    /// device that is awake answers within a round trip; the provider waits for its answer meanwhile.
    package var acknowledgementGrace = Duration.milliseconds(50)

    /// How many notifications may be on their way to one device unacknowledged; of what comes after, the newest of
    /// each app waits in the mailbox.
    package var unacknowledgedPerDevice: Int

    /// How many notifications of priority 5 or less may wait for a connected device whose power is low: more than anybody
    /// reads in a burst, and 400 KB for a device at most. Half of ``unacknowledgedPerDevice`` if that is less. Beyond it the
    /// newest of each app waits in the mailbox.
    package var deferredPerDevice = 100

    /// How often one device token may be sent to: a person does not read more, and a device's battery is not to be
    /// emptied by a provider's mistake.
    package var requestsPerDeviceToken = Rate(burst: 1000, perSecond: 100)

    /// How long what is sent with regard to the device's power is gathered before it is sent (Guide, Table 8-2: grouped
    /// and delivered in bursts): long enough for a radio to sleep between two bursts, short enough for news.
    package var burstInterval = Duration.seconds(30)

    /// How many silent notifications an app on a device gets: a few an hour (Guide, 2.2.2).
    package var silentsPerApp = Rate(burst: 3, perSecond: 3 / 3600)

    /// How many notifications may wait for the store in one of ``shards``; beyond it the answer is
    /// ServiceUnavailable, so that a slow disk slows acceptance and memory stays bounded.
    package var pendingStoresPerShard = 4096

    /// How many notifications one of ``shards`` has the store write at a time; the others wait for the next time. Of all
    /// shards it is half of what the embedded store takes at once, whatever ``pendingStoresPerShard`` is set to, and a
    /// transaction of so many takes it a third of a second.
    package var storesPerBatch = 512

    /// How many expired notifications one sweep takes out of the store at a time, so that it never holds the store up
    /// for long.
    package var sweepBatch = 1000

    /// How many registrations of deleted apps are removed from the store at a time, for the same reason.
    package var removalBatch = 1000

    /// How often expired notifications are looked for. They are never delivered, whenever that is.
    package var sweepInterval = Duration.seconds(60)

    package init(unacknowledgedPerDevice: Int = 1000) {
        self.unacknowledgedPerDevice = unacknowledgedPerDevice
    }

    /// How many parts, each behind its own lock, the state is divided into by device: enough that two threads seldom
    /// meet.
    package static let shards = 16
}

extension DeliveryLimits {
    /// When a notification stops being valid; nil when it must not be stored at all: expiration 0, or a date already
    /// past, which both get one attempt (Guide, Table 8-2).
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
