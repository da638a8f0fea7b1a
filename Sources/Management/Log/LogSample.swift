import Notifications
import Synchronization

/// Chooses which notifications of a busy delivery log a person is shown: some of those that come, each with all of its
/// later entries.
final class LogSample: Sendable {
    fileprivate struct State {
        /// Whether entries are chosen; before that all are shown, because they are the past that was asked for.
        var isLive = false
        /// The notifications that were chosen; the next one takes the place of the oldest.
        var chosen: [NotificationID] = []
        var oldest = 0
        var isChosen: Set<NotificationID> = []
        /// How many were chosen since the last time.
        var new = 0
        var leftOut = 0
    }

    private let state = Mutex(State())

    /// From now on, entries are chosen.
    func begin() { state.withLock { $0.isLive = true } }

    /// Whether an entry is shown.
    func admits(_ id: NotificationID) -> Bool {
        state.withLock { state in
            guard state.isLive, !state.isChosen.contains(id) else { return true }
            guard state.new < ManagementLimits.sampledEntries else {
                state.leftOut += 1
                return false
            }
            state.new += 1
            state.choose(id)
            return true
        }
    }

    /// Begins the time for the next ones to be chosen.
    /// - Returns: how many entries were not shown in the last.
    func next() -> Int {
        state.withLock { state in
            defer { (state.new, state.leftOut) = (0, 0) }
            return state.leftOut
        }
    }
}

extension LogSample.State {
    fileprivate mutating func choose(_ id: NotificationID) {
        isChosen.insert(id)
        guard chosen.count == ManagementLimits.sampleMemory else { return chosen.append(id) }
        isChosen.remove(chosen[oldest])
        chosen[oldest] = id
        oldest = (oldest + 1) % chosen.count
    }
}
