package import Storage

/// What other nodes have changed about channels. Stores that several nodes use implement it.
///
/// Nodes tell each other about broadcasts directly (``PeerRoutes/broadcast(_:)``). What they could not tell, a node finds
/// here. All changes have numbers, in the order in which they become visible.
package protocol ChannelNews: Sendable {
    /// The number of the newest change when this node opened the store; 0 if there had never been a channel.
    var position: BroadcastVersion { get }

    /// Returns what other nodes have changed, in the order of the changes. Of several broadcasts to one channel, it
    /// returns the newest only.
    /// - Parameters:
    ///   - position: the changes after this one.
    ///   - limit: the largest number of changes.
    func changes(after position: BroadcastVersion, limit: Int) async throws(StoreError) -> ChannelChanges
}

package enum ChannelChange: Sendable, Hashable {
    case stored(StoredBroadcast)
    case removed(ChannelKey)
}

package struct ChannelChanges: Sendable, Hashable {
    /// The changes up to this one are known now.
    package let position: BroadcastVersion
    /// False if changes may be missing, because the store has lost its last changes.
    package let isComplete: Bool
    package let changes: [ChannelChange]
    /// Whether there are more changes after ``position``.
    package let hasMore: Bool

    package init(position: BroadcastVersion, isComplete: Bool, changes: [ChannelChange], hasMore: Bool) {
        self.position = position
        self.isComplete = isComplete
        self.changes = changes
        self.hasMore = hasMore
    }
}
