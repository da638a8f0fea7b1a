import Synchronization

/// The current accounts and the listeners for changes. Stores implement ``Accounts`` with it.
package final class AccountsFeed: Sendable {
    private struct State {
        var snapshot: AccountsSnapshot
        /// What the current transaction has written. It is dropped if the transaction is rolled back.
        var written: AccountsSnapshot?
        var listeners: [UInt64: AsyncStream<AccountsSnapshot>.Continuation] = [:]
        var nextListener: UInt64 = 0
        var isFinished = false
    }

    private let state: Mutex<State>

    package init(_ snapshot: AccountsSnapshot) {
        state = Mutex(State(snapshot: snapshot))
    }

    package var current: AccountsSnapshot { state.withLock { $0.snapshot } }

    /// Returns the accounts of this version as the writer needs them: the published ones, or those that the current
    /// transaction has written; nil if neither has this version.
    package func snapshot(version: UInt64) -> AccountsSnapshot? {
        state.withLock { state in
            if let written = state.written, written.version == version { return written }
            return state.snapshot.version == version ? state.snapshot : nil
        }
    }

    /// Records the accounts that the writer has written and not yet committed.
    package func written(_ next: AccountsSnapshot) { state.withLock { $0.written = next } }

    /// Returns a stream of all snapshots, beginning with the current one. A slow reader gets only the newest.
    package func changes() -> AsyncStream<AccountsSnapshot> {
        let (stream, continuation) = AsyncStream.makeStream(
            of: AccountsSnapshot.self,
            bufferingPolicy: .bufferingNewest(1),
        )
        let listener: UInt64? = state.withLock { state in
            continuation.yield(state.snapshot)
            guard !state.isFinished else { return nil }
            defer { state.nextListener += 1 }
            state.listeners[state.nextListener] = continuation
            return state.nextListener
        }
        guard let listener else {
            continuation.finish()
            return stream
        }
        continuation.onTermination = { [weak self] _ in
            self?.state.withLock { _ = $0.listeners.removeValue(forKey: listener) }
        }
        return stream
    }

    /// Replaces the current accounts by the result of `next`, unless that is nil. Holds the lock meanwhile, so that
    /// all listeners get the changes in the same order.
    /// - Returns: The accounts afterwards.
    @discardableResult
    package func update<Failure: Error>(
        _ next: (AccountsSnapshot) throws(Failure) -> AccountsSnapshot?,
    ) throws(Failure) -> AccountsSnapshot {
        try state.withLock { state throws(Failure) in
            guard let next = try next(state.snapshot) else { return state.snapshot }
            state.snapshot = next
            for listener in state.listeners.values { listener.yield(next) }
            return next
        }
    }

    /// Ends all streams. No change may follow.
    package func finish() {
        let listeners = state.withLock { state in
            state.isFinished = true
            return Array(state.listeners.values)
        }
        for listener in listeners { listener.finish() }
    }
}
