package import Notifications

/// A broadcast on its way to connected devices. All of them get the same line, so it is encoded once for many.
package final class BroadcastMessage: Sendable {
    /// The number that devices acknowledge. It is the same on all devices.
    package let number: UInt64
    package let channel: ChannelKey
    package let bundleID: BundleID
    package let notification: Notification
    /// Nil if it is not stored.
    package let version: BroadcastVersion?

    init(
        number: UInt64,
        channel: ChannelKey,
        bundleID: BundleID,
        notification: Notification,
        version: BroadcastVersion?,
    ) {
        self.number = number
        self.channel = channel
        self.bundleID = bundleID
        self.notification = notification
        self.version = version
    }

    /// Broadcasts have numbers below this one. A device's own notifications have higher ones, because
    /// ``DeviceLine/numbersPerMillisecond`` times the milliseconds since 1970 have been more since the year 2004.
    static let firstOtherNumber: UInt64 = 1 << 50

    /// How many broadcasts there may be in a millisecond, so that a later start of the service uses no number again.
    static let numbersPerMillisecond: UInt64 = 128

    /// Whether an acknowledged number is a broadcast's.
    package static func has(_ number: UInt64) -> Bool { number < firstOtherNumber }
}

/// A device's open stream, as broadcasts use it.
package protocol BroadcastStream: AnyObject, Sendable {
    /// Sends a broadcast after all earlier ones, when it is this stream's turn: notifications for single devices may go
    /// first. Called on any thread and never waits.
    func send(_ broadcast: BroadcastMessage)
    /// Ends the stream after everything was sent. Called on any thread and never waits.
    func end(_ reason: StreamEnd)
}
