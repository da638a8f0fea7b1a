import VirtualDevices

/// How much `--accept any` makes. If there is more, the oldest is forgotten.
package struct AcceptLimits: Sendable, Hashable {
    /// The number of teams. A test suite has one for each test, and some hundred tests.
    package var teams = 1000
    /// The number of apps, of these teams and of others. A team has one or two.
    package var apps = 2000
    /// The number of devices.
    package var devices = VirtualDeviceLimits.maximumSeen

    package init() {}
}
