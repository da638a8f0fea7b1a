package import Delivery
import Notifications
import Synchronization

extension MemoryStore: Accounts {
    package var current: AccountsSnapshot { accounts.current }

    package var isCurrent: Bool { true }

    package func changes() -> AsyncStream<AccountsSnapshot> { accounts.changes() }

    package func apply(_ change: AccountChange, to version: UInt64?) async throws(StoreError) -> AccountsSnapshot {
        try accounts.update { snapshot throws(StoreError) in
            guard version == nil || snapshot.version == version else { throw .accountsHaveChanged }
            return try lastAppID.withLock { last throws(StoreError) in
                let (number, overflow) = last.addingReportingOverflow(1)
                guard !overflow else { throw StoreError(.unavailable, "There are no numbers left for apps.") }
                let next = try snapshot.applying(change, nextAppID: AppID(rawValue: number))
                if case .createApp = change { last = number }
                return next
            }
        }
    }
}
