import Notifications
import Synchronization

/// Chooses the notifications that a stream of a busy delivery log shows. A person cannot read them all. Each chosen
/// notification is shown with all of its later entries.
final class LogSample: Sendable {
    fileprivate struct State {
        /// Whether new entries arrive. Entries before that are the past that the request asked for, and all of them
        /// are shown.
        var isLive = false
        /// The chosen notifications, as a ring: when it is full, the next one replaces the oldest.
        var chosen: [NotificationID] = []
        var oldest = 0
        var isChosen: Set<NotificationID> = []
        /// How many notifications were chosen in this period.
        var new = 0
        var leftOut = 0
    }

    private let state = Mutex(State())

    /// Begins to choose entries. Call it when all entries of the past have been shown.
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

    /// Begins the next period (``ManagementLimits/samplePace``).
    /// - Returns: how many entries of the last period were not shown.
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
