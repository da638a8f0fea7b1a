package import Notifications

/// A connected device, as the node with its connection knows it.
package struct ConnectedDevice: Sendable, Hashable {
    package let key: DeviceKey
    /// The time at which its stream began.
    package var since: Timestamp
    package var power: DevicePower
    /// The notifications that wait for a reason to wake the device, by app.
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
    /// The version of the newest of them that is also in the app's mailbox; nil if none is there.
    package var stored: MailboxVersion?

    package init(count: Int, stored: MailboxVersion? = nil) {
        self.count = count
        self.stored = stored
    }
}
