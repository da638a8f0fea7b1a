import Notifications
import Synchronization

/// Collects device tokens whose app was removed, and writes them to the store in batches. While one batch is being
/// written, the next one is collected. Notifications never wait for this.
final class FeedbackRecorder: Sendable {
    /// The largest number of collected entries. Each device token has only one. A further entry is dropped, and
    /// recorded when a provider uses its device token again. The limit is higher than the number of attempts to
    /// inactive device tokens in a second.
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
        /// Callers of ``flush()`` that wait until everything is written.
        var waiting: [CheckedContinuation<Void, Never>] = []
    }

    init(store: any Feedback) { self.store = store }

    /// Adds an entry to the next batch, and returns at once.
    func record(_ entry: FeedbackEntry) {
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
    func flush() async {
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
                try await store.record(batch)
            } catch {
                // If the store cannot write now, drop these entries. They are recorded when providers use the device
                // tokens again, which they do because they do not know yet that the tokens are inactive.
            }
        }
    }
}
