/// The limits of virtual devices, each with the reason for its value.
package enum VirtualDeviceLimits {
    /// The number of devices. A test suite has some hundred. Each takes a few kilobytes, with its line at the
    /// switchboard.
    package static let devices = 10_000

    /// The number of devices that are made of device tokens at their first use. If there are more, the oldest is
    /// forgotten, and is made again when its token is used again. Each takes some 1.5 KB, all of them 75 MB.
    package static let maximumSeen = 50_000

    /// The number of apps on one device. Each is a registration in the store.
    package static let apps = 100

    /// The longest delay of a slow device: longer than any test waits.
    package static let delay = Duration.seconds(3600)

    /// The delay before a device connects again after the service ended its stream.
    static let reconnect = Duration.milliseconds(100)
}
