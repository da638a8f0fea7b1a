/// The limits of virtual devices, each with the reason for its value.
package enum VirtualDeviceLimits {
    /// How many there may be: a test suite has some hundred. Each takes a few kilobytes, with its line at the switchboard.
    package static let devices = 10_000

    /// How many apps one of them may have: each is a registration in the store.
    package static let apps = 100

    /// How long a slow one may take: longer than the tests that wait for it.
    package static let delay = Duration.seconds(3600)

    /// How long a device waits before it connects again after the service ended its stream.
    static let reconnect = Duration.milliseconds(100)
}
