import DequeModule
import Matching
import Synchronization

/// Chooses some of the journal's requests when more arrive than a person can read. The reader also gets every change
/// of a request that was chosen. A request that is not chosen costs one look-up in a dictionary.
package final class JournalSample: Sendable {
    /// The requests that a reader gets at a time.
    package struct Batch: Sendable {
        /// The requests in the order in which they came, each in its newest state.
        package var entries: [JournalEntry] = []
        /// How many further requests came in this time and are left out.
        package var leftOut = 0

        package var isEmpty: Bool { entries.isEmpty && leftOut == 0 }
    }

    fileprivate struct State {
        /// The numbers of the requests in the next batch, in their order.
        var order = Deque<UInt64>()
        var waiting: [UInt64: JournalEntry] = [:]
        /// The numbers of the requests that were chosen so far, the oldest first.
        var shown = Deque<UInt64>()
        var isShown: Set<UInt64> = []
        /// The greatest number when the sample began. The reader already knows the requests up to this number.
        let first: UInt64
        /// The greatest number that has arrived.
        var newest: UInt64
        var leftOut = 0
    }

    private let state: Mutex<State>

    /// - Parameter newest: the greatest number in the journal.
    init(newest: UInt64) { state = Mutex(State(first: newest, newest: newest)) }

    /// Takes a request that is new or has changed. The journal calls this while it holds its lock.
    func add(_ entry: JournalEntry) {
        let number = entry.facts.number
        state.withLock { state in
            if state.waiting[number] != nil {
                state.waiting[number] = entry
                return
            }
            if number > state.newest {
                state.newest = number
                guard state.order.count < JournalLimits.maximumSampled else {
                    state.leftOut += 1
                    return
                }
                state.show(number)
            } else if number > state.first, !state.isShown.contains(number) {
                return
            }
            // Changes need no limit of their own: only requests that the reader knows already can change.
            state.waiting[number] = entry
            state.order.append(number)
        }
    }

    /// Returns the batch that has gathered since the last call.
    package func nextBatch() -> Batch {
        state.withLock { state in
            var batch = Batch()
            while batch.entries.count < JournalLimits.maximumSampled, let number = state.order.popFirst() {
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
