package import Notifications

/// One app on one device in one environment: what a device token names. A destination has a registration and a
/// mailbox.
package struct Destination: Sendable, Hashable {
    package let environment: Environment
    package let device: DeviceID
    package let app: AppID

    package init(environment: Environment, device: DeviceID, app: AppID) {
        self.environment = environment
        self.device = device
        self.app = app
    }

    /// Hashes one word instead of three, because a destination is looked up several times for each push. Devices are
    /// numbered at random, so collisions between their apps are rare.
    package func hash(into hasher: inout Hasher) {
        hasher.combine(device.rawValue ^ (UInt64(app.rawValue) << 1 | (environment == .production ? 1 : 0)))
    }

    /// The destination's device.
    package var deviceKey: DeviceKey { DeviceKey(environment: environment, device: device) }
}

/// A device in its environment.
package struct DeviceKey: Sendable, Hashable {
    package let environment: Environment
    package let device: DeviceID

    package init(environment: Environment, device: DeviceID) {
        self.environment = environment
        self.device = device
    }

    // Written by hand for the same reason as in `AppID`. The device is hashed together with the environment as one
    // word.
    package static func == (left: DeviceKey, right: DeviceKey) -> Bool {
        left.device == right.device && left.environment == right.environment
    }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(device.rawValue ^ (environment == .production ? 1 : 0))
    }
}
