package import Notifications

/// An app's registration on a device: its device token, and whether the app is still there.
package struct Registration: Sendable, Hashable {
    /// The generation, which is part of the device token. Tokens of an older generation are invalid.
    package var generation: UInt32
    /// The token key that sealed the device token. A new key does not change tokens that were already given out.
    package var tokenKeyID: UInt32
    /// The time at which this generation began.
    package var tokenSince: Timestamp
    /// Whether the app is on the device. ``changed`` is the time of the last change.
    package var isActive: Bool
    /// The time at which ``isActive`` last changed.
    package var changed: Timestamp

    package init(generation: UInt32, tokenKeyID: UInt32, tokenSince: Timestamp, isActive: Bool, changed: Timestamp) {
        self.generation = generation
        self.tokenKeyID = tokenKeyID
        self.tokenSince = tokenSince
        self.isActive = isActive
        self.changed = changed
    }
}
