import Notifications

/// Runs a scheduler whenever there may be something new, and again when the next thing is due. It never runs twice at the
/// same time.
actor DueWork {
    private let clock: ProviderClock
    /// Does what is due. Returns when to run again; nil if there is no such time.
    private let runOnce: @Sendable () async -> Timestamp?
    private var alarm: Task<Void, Never>?
    private var isClosed = false
    private var isRunning = false
    private var isDue = false

    init(clock: ProviderClock, runOnce: @escaping @Sendable () async -> Timestamp?) {
        self.clock = clock
        self.runOnce = runOnce
    }

    func runDue() async {
        isDue = true
        // `runOnce()` waits for the store. If another call arrives meanwhile, the loop runs once more.
        guard !isRunning else { return }
        isRunning = true
        while isDue, !isClosed {
            isDue = false
            wake(at: await runOnce())
        }
        isRunning = false
    }

    private func wake(at moment: Timestamp?) {
        alarm?.cancel()
        guard let moment, !isClosed else { return }
        let wait = Int64(clamping: Int128(moment.milliseconds) - Int128(clock.now().milliseconds))
        alarm = Task { [clock] in
            await clock.sleep(.milliseconds(max(0, wait)))
            guard !Task.isCancelled else { return }
            await runDue()
        }
    }

    /// Looks no more.
    func close() {
        isClosed = true
        alarm?.cancel()
    }
}
