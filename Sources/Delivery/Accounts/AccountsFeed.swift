import Synchronization

/// The accounts as they are now, and everybody who wants to hear of changes: what a store answers ``Accounts`` with.
package final class AccountsFeed: Sendable {
    private struct State {
        var snapshot: AccountsSnapshot
        /// What the transaction under way has made of it; it comes to nothing where that is rolled back.
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

    /// The accounts of the version that the database holds, as the writer sees it: those that everybody knows, or those
    /// that were written in the same transaction a moment ago.
    package func snapshot(version: UInt64) -> AccountsSnapshot? {
        state.withLock { state in
            if let written = state.written, written.version == version { return written }
            return state.snapshot.version == version ? state.snapshot : nil
        }
    }

    /// The writer has written these, and they are not committed yet.
    package func written(_ next: AccountsSnapshot) { state.withLock { $0.written = next } }

    /// Every snapshot from now on, the present one first; only the newest waits for a slow reader.
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

    /// Makes the next snapshot out of the present one, unless there is nothing to change. Within the lock, so that all
    /// hear of changes in their order.
    /// - Returns: The accounts as they are then.
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

    /// There will be no more changes.
    package func finish() {
        let listeners = state.withLock { state in
            state.isFinished = true
            return Array(state.listeners.values)
        }
        for listener in listeners { listener.finish() }
    }
}
