import Notifications
import Synchronization

/// Gathers device tokens whose app is gone, and hands them to the store in batches: while one batch is being written the
/// next one gathers. Who sends a notification never waits for it.
final class FeedbackRecorder: Sendable {
    /// How many may be gathered, each once. As many attempts at device tokens that are good for nothing come in a second
    /// at most; what comes beyond it is noted at the next attempt.
    static let maximumGathered = 10_000

    private let store: any Feedback
    private let state = Mutex(State())

    private struct Key: Hashable {
        let destination: Destination
        let generation: UInt32
    }

    private struct State {
        var gathered: [Key: FeedbackEntry] = [:]
        var isWriting = false
        /// Wait until nothing is gathered.
        var waiting: [CheckedContinuation<Void, Never>] = []
    }

    init(store: any Feedback) { self.store = store }

    /// Takes an entry; returns at once.
    func note(_ entry: FeedbackEntry) {
        let begins = state.withLock { state in
            let key = Key(destination: entry.destination, generation: entry.generation)
            guard state.gathered.count < Self.maximumGathered || state.gathered[key] != nil else { return false }
            state.gathered[key] = entry
            defer { state.isWriting = true }
            return !state.isWriting
        }
        if begins { Task { await write() } }
    }

    /// Returns once everything that was noted before is in the store, or could not be put there.
    func settle() async {
        await withCheckedContinuation { continuation in
            let isIdle = state.withLock { state in
                if state.isWriting { state.waiting.append(continuation) }
                return !state.isWriting
            }
            if isIdle { continuation.resume() }
        }
    }

    private func write() async {
        while true {
            let (batch, waiting) = state.withLock { state in
                let batch = Array(state.gathered.values)
                state.gathered.removeAll(keepingCapacity: true)
                guard batch.isEmpty else { return (batch, [CheckedContinuation<Void, Never>]()) }
                state.isWriting = false
                defer { state.waiting = [] }
                return (batch, state.waiting)
            }
            for continuation in waiting { continuation.resume() }
            if batch.isEmpty { return }
            do {
                try await store.note(batch)
            } catch {
                // A store that cannot write now is told of these at the next attempt, which comes as surely as the
                // first: the provider has not heard of them.
            }
        }
    }
}
