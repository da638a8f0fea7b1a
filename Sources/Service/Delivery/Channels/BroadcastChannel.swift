package import Notifications

/// The broadcast channels of one app in one environment.
package struct ChannelList: Sendable, Hashable {
    package let environment: Environment
    package let app: AppID

    package init(environment: Environment, app: AppID) {
        self.environment = environment
        self.app = app
    }
}

/// Names one broadcast channel.
package struct ChannelKey: Sendable, Hashable {
    package let list: ChannelList
    package let id: ChannelID

    package init(list: ChannelList, id: ChannelID) {
        self.list = list
        self.id = id
    }
}

/// A broadcast channel: an app's devices subscribe to it, and the app's provider sends to it (docs/channels.md).
package struct BroadcastChannel: Sendable, Hashable {
    package let key: ChannelKey
    package let policy: MessageStoragePolicy
    package let created: Timestamp

    package init(key: ChannelKey, policy: MessageStoragePolicy, created: Timestamp) {
        self.key = key
        self.policy = policy
        self.created = created
    }
}

/// An app on a device that wants what is sent to a channel.
package struct Subscription: Sendable, Hashable {
    package let device: DeviceKey
    package let app: AppID
    package let channel: ChannelID

    package init(device: DeviceKey, app: AppID, channel: ChannelID) {
        self.device = device
        self.app = app
        self.channel = channel
    }

    package var key: ChannelKey {
        ChannelKey(list: ChannelList(environment: device.environment, app: app), id: channel)
    }

    package var destination: Destination {
        device.destination(of: app)
    }
}

/// A channel that a device is subscribed to.
package struct SubscribedChannel: Sendable, Hashable {
    package let channel: BroadcastChannel
    /// The newest stored broadcast that the device has acknowledged; nil if it has acknowledged none.
    package let seen: BroadcastVersion?

    package init(channel: BroadcastChannel, seen: BroadcastVersion?) {
        self.channel = channel
        self.seen = seen
    }
}

/// The position of a stored broadcast in the order of all broadcasts that the store has ever stored. It is never used
/// again.
package struct BroadcastVersion: Sendable, Hashable, Comparable {
    package let rawValue: UInt64
    package init(rawValue: UInt64) { self.rawValue = rawValue }

    package static func < (left: BroadcastVersion, right: BroadcastVersion) -> Bool { left.rawValue < right.rawValue }
}

/// A broadcast that a channel keeps for devices that connect or subscribe later.
package struct BroadcastEntry: Sendable, Hashable {
    package let channel: ChannelKey
    package let notification: Notification
    /// The time from which it is no longer delivered.
    package let expires: Timestamp
    /// How long ago it was accepted; nil if it replaces whatever the channel keeps.
    package let waited: Duration?

    package init(channel: ChannelKey, notification: Notification, expires: Timestamp, waited: Duration? = nil) {
        self.channel = channel
        self.notification = notification
        self.expires = expires
        self.waited = waited
    }
}

package struct StoredBroadcast: Sendable, Hashable {
    package let entry: BroadcastEntry
    package let version: BroadcastVersion

    package init(entry: BroadcastEntry, version: BroadcastVersion) {
        self.entry = entry
        self.version = version
    }
}

/// A device has acknowledged a stored broadcast.
package struct SeenBroadcast: Sendable, Hashable {
    package let subscription: Subscription
    package let version: BroadcastVersion

    package init(subscription: Subscription, version: BroadcastVersion) {
        self.subscription = subscription
        self.version = version
    }
}
