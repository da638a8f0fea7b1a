import DequeModule
import Matching
import Synchronization

/// The requests that a busy stream shows to a person: some of those that come, and every change of a request that it has
/// shown. Each further request costs only one look-up in a dictionary.
package final class JournalSample: Sendable {
    /// What a reader gets at a time.
    package struct Batch: Sendable {
        /// Each with its newest state, in the order in which they came.
        package var entries: [JournalEntry] = []
        /// How many further requests came and are not shown.
        package var leftOut = 0

        package var isEmpty: Bool { entries.isEmpty && leftOut == 0 }
    }

    fileprivate struct State {
        /// The requests to hand out, in their order.
        var order = Deque<UInt64>()
        var waiting: [UInt64: JournalEntry] = [:]
        /// The requests that were shown, the oldest first.
        var shown = Deque<UInt64>()
        var isShown: Set<UInt64> = []
        /// The greatest number that there was at the beginning: the reader knows these requests.
        let first: UInt64
        /// The greatest number that came.
        var newest: UInt64
        var leftOut = 0
    }

    private let state: Mutex<State>

    /// - Parameter newest: the greatest number that there is.
    init(newest: UInt64) { state = Mutex(State(first: newest, newest: newest)) }

    /// Takes a request that is new or has changed. Called under the journal's lock.
    func add(_ entry: JournalEntry) {
        let number = entry.facts.number
        state.withLock { state in
            if state.waiting[number] != nil {
                state.waiting[number] = entry
                return
            }
            if number > state.newest {
                state.newest = number
                guard state.order.count < JournalLimits.sampled else {
                    state.leftOut += 1
                    return
                }
                state.show(number)
            } else if number > state.first, !state.isShown.contains(number) {
                return
            }
            // Changes of what was shown are as many as that at most.
            state.waiting[number] = entry
            state.order.append(number)
        }
    }

    /// Hands out what has come since the last time.
    package func take() -> Batch {
        state.withLock { state in
            var batch = Batch()
            while batch.entries.count < JournalLimits.sampled, let number = state.order.popFirst() {
                if let entry = state.waiting.removeValue(forKey: number) { batch.entries.append(entry) }
            }
            batch.leftOut = state.leftOut
            state.leftOut = 0
            return batch
        }
    }
}

extension JournalSample.State {
    fileprivate mutating func show(_ number: UInt64) {
        shown.append(number)
        isShown.insert(number)
        if shown.count > JournalLimits.sampleMemory, let oldest = shown.popFirst() { isShown.remove(oldest) }
    }
}
