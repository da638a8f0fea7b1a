package import Notifications

/// One app on one device in one environment: what a device token names, and what has a registration and a mailbox.
package struct Destination: Sendable, Hashable {
    package let environment: Environment
    package let device: DeviceID
    package let app: AppID

    package init(environment: Environment, device: DeviceID, app: AppID) {
        self.environment = environment
        self.device = device
        self.app = app
    }

    /// In one word instead of three: it is looked up several times for each push. Devices are numbered at random, so that
    /// their apps hardly ever meet.
    package func hash(into hasher: inout Hasher) {
        hasher.combine(device.rawValue ^ (UInt64(app.rawValue) << 1 | (environment == .production ? 1 : 0)))
    }

    /// The device, whatever the app.
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

    // Written out, as with `AppID`, and hashed in one word: a device's two environments are two of its neighbours.
    package static func == (left: DeviceKey, right: DeviceKey) -> Bool {
        left.device == right.device && left.environment == right.environment
    }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(device.rawValue ^ (environment == .production ? 1 : 0))
    }
}
