/// What became of a broadcast that was accepted.
package struct BroadcastResult: Sendable, Hashable {
    /// Whether the channel keeps it for devices that come later.
    package let isStored: Bool
    /// The number of connected devices that it was sent to.
    package let receivers: Int

    package init(isStored: Bool, receivers: Int) {
        self.isStored = isStored
        self.receivers = receivers
    }
}
