package import Notifications

/// An app's standing on a device: which device token it has, and whether it is still there.
package struct Registration: Sendable, Hashable {
    /// Part of the device token: a token of an older generation is no longer good.
    package var generation: UInt32
    /// Which token key sealed the token, so that a new key does not change tokens already given out.
    package var tokenKeyID: UInt32
    /// When the present generation began.
    package var tokenSince: Timestamp
    /// Whether the app is on the device; when that was last known to have changed is in ``changed``.
    package var isActive: Bool
    /// When ``isActive`` took its value.
    package var changed: Timestamp

    package init(generation: UInt32, tokenKeyID: UInt32, tokenSince: Timestamp, isActive: Bool, changed: Timestamp) {
        self.generation = generation
        self.tokenKeyID = tokenKeyID
        self.tokenSince = tokenSince
        self.isActive = isActive
        self.changed = changed
    }
}
