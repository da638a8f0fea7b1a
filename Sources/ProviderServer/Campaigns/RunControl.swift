import Synchronization

/// What others may do to a message that is being sent: stop it, or change its rate.
final class RunControl: Sendable {
    private struct State {
        var isStopped = false
        var rate: Int64?
        var sleeper: Task<Void, Never>?
    }

    private let state: Mutex<State>
    private let clock: ProviderClock

    init(rate: Int64?, clock: ProviderClock) {
        state = Mutex(State(rate: rate))
        self.clock = clock
    }

    var isStopped: Bool { state.withLock { $0.isStopped } }

    /// The largest number of notifications a second; nil for no limit.
    var rate: Int64? {
        get { state.withLock { $0.rate } }
        set { state.withLock { $0.rate = newValue } }
    }

    /// Takes no more recipients. Those under way are answered and recorded.
    func stop() {
        let sleeper = state.withLock { state in
            state.isStopped = true
            return state.sleeper
        }
        sleeper?.cancel()
    }

    /// Waits, but not longer than until it is stopped.
    func sleep(for duration: Duration) async {
        let task = Task { [clock] in await clock.sleep(duration) }
        let isStopped = state.withLock { state in
            state.sleeper = task
            return state.isStopped
        }
        if isStopped { task.cancel() }
        await task.value
    }
}
