import Notifications
import Synchronization

/// Collects device tokens whose app was removed, and writes them to the store in batches. While one batch is being
/// written, the next one is collected. Sending a notification never waits for this.
final class FeedbackRecorder: Sendable {
    /// The largest number of entries that are collected, each of them once. It is more than the attempts to inactive
    /// device tokens in a second. An entry beyond it is recorded at the next attempt.
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
        /// Callers that wait until everything is written.
        var waiting: [CheckedContinuation<Void, Never>] = []
    }

    init(store: any Feedback) { self.store = store }

    /// Takes an entry and returns at once.
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

    /// Waits until all entries so far are in the store, or could not be written.
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
                // If the store cannot write now, these entries are recorded again at the next attempt, which will
                // come because the provider does not know yet that the tokens are inactive.
            }
        }
    }
}
