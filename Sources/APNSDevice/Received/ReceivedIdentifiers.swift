import Synchronization

/// Keeps which notifications a device has taken, so that one that comes again is not shown again, not even after a
/// restart (docs/device-protocol.md: the service may send the same one again).
public protocol ReceivedIdentifiers: Sendable {
    /// Whether a notification with this identifier was taken before.
    func contains(_ identifier: String) async -> Bool

    /// Notes that a notification was taken; called after the app has it, and before it is acknowledged. A thousand of
    /// the newest are enough: the service has no more under way to a device.
    func insert(_ identifier: String) async throws
}

/// Keeps the newest identifiers in memory: enough within one run of the program.
public final class MemoryIdentifiers: ReceivedIdentifiers {
    private let recent: Mutex<RecentIdentifiers>

    /// - Parameter capacity: how many are kept.
    public init(capacity: Int = 1000) {
        recent = Mutex(RecentIdentifiers(capacity: capacity))
    }

    public func contains(_ identifier: String) -> Bool {
        recent.withLock { $0.contains(identifier) }
    }

    public func insert(_ identifier: String) {
        recent.withLock { _ = $0.insert(identifier) }
    }
}
