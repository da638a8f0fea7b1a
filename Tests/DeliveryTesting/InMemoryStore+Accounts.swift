package import Delivery
import Notifications
import Notifications
import Synchronization

extension InMemoryStore: Accounts {
    package var current: AccountsSnapshot { state.withLock { $0.accounts } }

    package func changes() -> AsyncStream<AccountsSnapshot> {
        let (stream, continuation) = AsyncStream.makeStream(
            of: AccountsSnapshot.self,
            bufferingPolicy: .bufferingNewest(1),
        )
        state.withLock { state in
            continuation.yield(state.accounts)
            state.listeners.append(continuation)
        }
        return stream
    }

    package func apply(_ change: AccountChange, to version: UInt64?) async throws(StoreError) -> AccountsSnapshot {
        try state.withLock { state throws(StoreError) in
            guard version == nil || state.accounts.version == version else {
                throw StoreError(.conflict, "The accounts have moved on.")
            }
            guard let next = try state.accounts.applying(change, nextAppID: AppID(rawValue: state.lastAppID + 1)) else {
                return state.accounts
            }
            if case .createApp = change { state.lastAppID += 1 }
            state.accounts = next
            for listener in state.listeners { listener.yield(next) }
            return next
        }
    }
}
