/// Which broadcasts a channel stores for devices that are offline: `message-storage-policy` (docs/channels.md).
package enum MessageStoragePolicy: UInt8, Sendable, Hashable, CaseIterable {
    /// Nothing: a broadcast reaches the devices that are connected.
    case none = 0
    /// The newest broadcast, until it expires.
    case newest = 1
}
