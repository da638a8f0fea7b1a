import Synchronization

/// Stops a message that is being sent, or changes its rate.
final class RunControl: Sendable {
    private struct State {
        var isStopped = false
        var rate: Int64?
        var sleeper: Task<Void, Never>?
        /// Until when this server may send; nil for no limit.
        var heldUntil: ContinuousClock.Instant?
        var cause: String?
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

    /// Why sending waits; nil while it goes on.
    var cause: String? { state.withLock { $0.cause } }

    /// - Returns: The cause before.
    func setCause(_ cause: String?) -> String? {
        state.withLock { state in
            defer { state.cause = cause }
            return state.cause
        }
    }

    /// Whether this server holds the message. If not, another one may already send it.
    var isHeld: Bool { state.withLock { $0.heldUntil.map { ContinuousClock.now < $0 } ?? true } }

    /// Waits until this server holds the message, or until it is stopped.
    func untilHeld() async {
        while !isHeld, !isStopped { await sleep(for: .milliseconds(50)) }
    }

    func hold(until moment: ContinuousClock.Instant) { state.withLock { $0.heldUntil = moment } }

    /// Extends the time for which this server holds the message.
    /// - Returns: false if that time has ended before. Another server may have sent the message since.
    func extendHold(until moment: ContinuousClock.Instant) -> Bool {
        state.withLock { state in
            if let heldUntil = state.heldUntil, heldUntil <= ContinuousClock.now { return false }
            state.heldUntil = moment
            return true
        }
    }

    /// Stops taking recipients. Answers under way are still recorded.
    func stop() {
        let sleeper = state.withLock { state in
            state.isStopped = true
            return state.sleeper
        }
        sleeper?.cancel()
    }

    /// Waits for the duration, or until the message is stopped.
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
