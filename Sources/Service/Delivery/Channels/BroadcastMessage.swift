package import Notifications

/// A broadcast on its way to connected devices. All of them get the same line, so it is encoded once for many
/// devices.
package final class BroadcastMessage: Sendable {
    /// The number that devices acknowledge. It is the same on all devices.
    package let number: UInt64
    package let channel: ChannelKey
    package let bundleID: BundleID
    package let notification: Notification
    /// The version in the store; nil if the broadcast is not stored.
    package let version: BroadcastVersion?
    /// The broadcast expires by the clock of its app's team.
    let clocks: TeamClocks

    init(
        number: UInt64,
        channel: ChannelKey,
        bundleID: BundleID,
        notification: Notification,
        version: BroadcastVersion?,
        clocks: TeamClocks = TeamClocks(),
    ) {
        self.clocks = clocks
        self.number = number
        self.channel = channel
        self.bundleID = bundleID
        self.notification = notification
        self.version = version
    }

    /// The numbers of broadcasts are below this one. The numbers of a device's own notifications are above it,
    /// because they are the milliseconds since 1970 times ``DeviceLine/numbersPerMillisecond``, which passed this
    /// number in 2004.
    static let firstOtherNumber: UInt64 = 1 << 50

    /// How many numbers there are for each millisecond. Numbers follow the machine's clock, so a later start of the
    /// service uses no number again.
    static let numbersPerMillisecond: UInt64 = 128

    /// Whether an acknowledged number is a broadcast's.
    package static func has(_ number: UInt64) -> Bool { number < firstOtherNumber }
}

/// A device's open stream, as broadcasts use it.
package protocol BroadcastStream: AnyObject, Sendable {
    /// Sends a broadcast after all earlier ones. It may wait until other streams have had their turn, and
    /// notifications for single devices may be sent first. Called on any thread; the call itself never waits.
    func send(_ broadcast: BroadcastMessage)
    /// Ends the stream after everything was sent, broadcasts that wait for their turn too. Called on any thread and
    /// never waits.
    func end(_ reason: StreamEnd)
}
