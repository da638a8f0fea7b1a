package import Notifications

/// A device that is connected, as the node that holds its connection knows it.
package struct ConnectedDevice: Sendable, Hashable {
    package let key: DeviceKey
    /// The time at which its stream began.
    package var since: Timestamp
    package var power: DevicePower
    /// What waits for a reason to wake the device, by app.
    package var held: [AppID: HeldNotifications]

    package init(key: DeviceKey, since: Timestamp, power: DevicePower, held: [AppID: HeldNotifications]) {
        self.key = key
        self.since = since
        self.power = power
        self.held = held
    }
}

/// The notifications for one app that wait for a reason to wake the device.
package struct HeldNotifications: Sendable, Hashable {
    package var count: Int
    /// The version of the newest of them that is in the app's mailbox as well; nil if none is.
    package var stored: MailboxVersion?

    package init(count: Int, stored: MailboxVersion? = nil) {
        self.count = count
        self.stored = stored
    }
}
