package import Notifications

/// One app on one device in one environment, or one of its Web Push subscriptions. A device token or an endpoint leads to
/// it. An app has a registration and a mailbox, and each subscription has a mailbox of its own, its queue.
package struct Destination: Sendable, Hashable {
    package let environment: Environment
    /// 0 for the app itself; otherwise the number of the subscription.
    // It is here because there is room: a destination is not larger than it was without it.
    package let queue: UInt32
    package let device: DeviceID
    package let app: AppID

    package init(environment: Environment, device: DeviceID, app: AppID, queue: UInt32 = 0) {
        self.environment = environment
        self.queue = queue
        self.device = device
        self.app = app
    }

    /// Hashes one word instead of several values, because a destination is looked up several times for each notification.
    /// Device IDs are random, so two destinations seldom have the same word.
    package func hash(into hasher: inout Hasher) {
        hasher.combine(device.rawValue ^ mailbox.word << 1 ^ (environment == .production ? 1 : 0))
    }

    /// The destination's device.
    package var deviceKey: DeviceKey { DeviceKey(environment: environment, device: device) }

    /// Which of the device's mailboxes it is.
    package var mailbox: DeviceMailbox { DeviceMailbox(app: app, queue: queue) }

    /// The app that the subscription belongs to, which has the registration.
    package var ofApp: Destination { Destination(environment: environment, device: device, app: app) }

    /// Whether it is a Web Push subscription. Its mailbox keeps several messages, whatever the app keeps.
    package var isSubscription: Bool { queue != 0 }
}

/// One of a device's mailboxes.
package struct DeviceMailbox: Sendable, Hashable {
    package let app: AppID
    /// 0 for the app's own mailbox; otherwise the number of the subscription.
    package let queue: UInt32

    package init(app: AppID, queue: UInt32 = 0) { (self.app, self.queue) = (app, queue) }

    fileprivate var word: UInt64 { UInt64(queue) << 32 | UInt64(app.rawValue) }  // fits: 32 bits each

    // The compiler's version would be slower, for the reason given at `AppID`.
    package static func == (left: DeviceMailbox, right: DeviceMailbox) -> Bool { left.word == right.word }

    package func hash(into hasher: inout Hasher) { hasher.combine(word) }
}

/// A device in its environment.
package struct DeviceKey: Sendable, Hashable {
    package let environment: Environment
    package let device: DeviceID

    package init(environment: Environment, device: DeviceID) {
        self.environment = environment
        self.device = device
    }

    /// An app on the device.
    package func destination(of app: AppID) -> Destination {
        Destination(environment: environment, device: device, app: app)
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
