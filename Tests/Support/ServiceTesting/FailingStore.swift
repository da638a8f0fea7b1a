import Delivery
import DeliveryTesting
import Notifications
import Storage
import Synchronization

/// A store in which one call fails, or comes second. Only changes of accounts and registrations are counted.
final class FailingStore: ForwardingStore {
    let inner: any Store
    let broadcastChannels: any Channels
    /// The number of calls until one fails; nil if none has to fail.
    private let left = Mutex<Int?>(nil)
    /// A change that somebody else makes first; nil for none.
    private let earlier = Mutex<AccountChange?>(nil)

    /// - Parameter channels: the channels in place of the store's; nil for the store's.
    init(_ store: any Store, channels: (any Channels)? = nil) {
        inner = store
        broadcastChannels = channels ?? store.broadcastChannels
    }

    /// Makes one call fail: the one with this number, counted from now on.
    func fail(_ number: Int) { left.withLock { $0 = number } }

    /// Makes somebody else's change just before the service's next one.
    func precede(with change: AccountChange) { earlier.withLock { $0 = change } }

    /// Whether a call still has to fail. Afterwards, none has to fail.
    func takeLeft() -> Bool {
        left.withLock { left in
            defer { left = nil }
            return left != nil
        }
    }

    private func count() throws(StoreError) {
        let fails = left.withLock { left in
            guard let number = left else { return false }
            left = number > 1 ? number - 1 : nil
            return number <= 1
        }
        if fails { throw StoreError(.unavailable, "The test wants this call to fail.") }
    }

    // MARK: Calls that are counted

    func apply(_ change: AccountChange, to version: UInt64?) async throws(StoreError) -> AccountsSnapshot {
        try count()
        let earlier = earlier.withLock { earlier in
            defer { earlier = nil }
            return earlier
        }
        if let earlier { _ = try await inner.apply(earlier, to: nil) }
        return try await inner.apply(change, to: version)
    }

    func register(
        _ destination: Destination,
        tokenKeyID: UInt32,
        at moment: Timestamp,
    ) async throws(StoreError) -> Registration {
        try count()
        return try await inner.register(destination, tokenKeyID: tokenKeyID, at: moment)
    }

    func end(_ destination: Destination, at moment: Timestamp) async throws(StoreError) -> Registration? {
        try count()
        return try await inner.end(destination, at: moment)
    }
}
