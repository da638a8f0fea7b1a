import Synchronization

/// What the parts of `Delivery` want stored. All that comes while the store is busy is its next batch: one transaction,
/// one task and one wake-up for each connection are enough for all of it.
final class StoreQueue: Sendable {
    /// What one part wants stored. It has at most one batch here or in the store, which bounds the queue.
    struct Batch: Sendable {
        /// Whose it is.
        let shard: Int
        let entries: [MailboxEntry]
    }

    private struct State {
        var waiting: [Batch] = []
        /// Somebody is going to call ``next()``.
        var isStoring = false
    }

    private let state = Mutex(State())

    /// - Returns: whether the caller has to see to it that what waits is stored.
    func add(_ batch: Batch) -> Bool {
        state.withLock { state in
            state.waiting.append(batch)
            defer { state.isStoring = true }
            return !state.isStoring
        }
    }

    /// Takes all that waits, at most once at a time; empty where nothing does, and then the storing has ended.
    func next() -> [Batch] {
        state.withLock { state in
            defer { state.waiting = [] }
            state.isStoring = !state.waiting.isEmpty
            return state.waiting
        }
    }
}
