package import Notifications

/// One app on one device in one environment. A device token leads to it. It has a registration and a mailbox.
package struct Destination: Sendable, Hashable {
    package let environment: Environment
    package let device: DeviceID
    package let app: AppID

    package init(environment: Environment, device: DeviceID, app: AppID) {
        self.environment = environment
        self.device = device
        self.app = app
    }

    /// Hashes one word instead of three values, because a destination is looked up several times for each notification.
    /// Device IDs are random, so two destinations seldom have the same word.
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

    // The compiler's version would be slower, for the reason given at `AppID`. The device and the environment are
    // hashed as one word.
    package static func == (left: DeviceKey, right: DeviceKey) -> Bool {
        left.device == right.device && left.environment == right.environment
    }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(device.rawValue ^ (environment == .production ? 1 : 0))
    }
}
