package import Delivery
package import Storage
import Synchronization

/// The accounts of a node. A test can stop it from receiving changes.
package final class CutOffAccounts: Accounts {
    private let accounts: any Accounts
    private let cutOff = Mutex(false)

    package init(_ accounts: any Accounts) { self.accounts = accounts }

    package func cutOff(_ isCutOff: Bool) { cutOff.withLock { $0 = isCutOff } }

    package var isCurrent: Bool { !cutOff.withLock { $0 } }
    package var current: AccountsSnapshot { accounts.current }
    package func changes() -> AsyncStream<AccountsSnapshot> { accounts.changes() }

    package func apply(_ change: AccountChange, to version: UInt64?) async throws(StoreError) -> AccountsSnapshot {
        try await accounts.apply(change, to: version)
    }
}
