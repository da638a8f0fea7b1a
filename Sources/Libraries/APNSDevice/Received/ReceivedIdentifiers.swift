import Synchronization

/// A store of the identifiers of received notifications, so that none is shown twice, not even after a restart. The
/// service may send a notification again (docs/device-protocol.md).
public protocol ReceivedIdentifiers: Sendable {
    /// Returns whether a notification with this identifier was received before.
    func contains(_ identifier: String) async -> Bool

    /// Records that a notification was received. The device calls this after ``DeviceDelegate/received(_:)`` has
    /// returned, and acknowledges the notification afterwards. Keep at least the newest thousand, because the service
    /// has no more than that under way to a device.
    /// - Throws: Any error. The device reports it to its delegate and acknowledges the notification all the same.
    func insert(_ identifier: String) async throws
}

/// A store that keeps the newest identifiers in memory, until the program ends.
public final class MemoryIdentifiers: ReceivedIdentifiers {
    private let recent: Mutex<RecentIdentifiers>

    /// Creates an empty store.
    /// - Parameter capacity: the number of identifiers to keep.
    public init(capacity: Int = 1000) {
        recent = Mutex(RecentIdentifiers(capacity: capacity))
    }

    /// Whether a notification with this identifier was received before.
    public func contains(_ identifier: String) -> Bool {
        recent.withLock { $0.contains(identifier) }
    }

    /// Records that a notification was received.
    public func insert(_ identifier: String) {
        recent.withLock { _ = $0.insert(identifier) }
    }
}
