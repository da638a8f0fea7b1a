import Notifications

/// Runs a scheduler whenever there may be something new, and again when the next thing is due. It never runs twice at the
/// same time.
actor DueWork {
    private let clock: ProviderClock
    /// Does what is due. Returns when to run again; nil if there is no such time.
    private let runOnce: @Sendable () async -> Timestamp?
    private var alarm: Task<Void, Never>?
    /// The longest sleep, in milliseconds: so late is what is due after somebody has set the machine's clock forward.
    private static let longestSleep: Int64 = 60_000
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
            await clock.sleep(.milliseconds(min(max(0, wait), Self.longestSleep)))
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
