import Notifications

/// Looks at the store whenever there may be something new, and again when the next thing is due. Never looks twice at the
/// same time.
actor Agenda {
    private let clock: ProviderClock
    /// Looks once. Returns when to look again; nil if there is no such time.
    private let lookOnce: @Sendable () async -> Timestamp?
    private var alarm: Task<Void, Never>?
    private var isClosed = false
    private var isLooking = false
    private var isLookDue = false

    init(clock: ProviderClock, lookOnce: @escaping @Sendable () async -> Timestamp?) {
        self.clock = clock
        self.lookOnce = lookOnce
    }

    func look() async {
        isLookDue = true
        // `lookOnce()` waits for the store. If another call arrives meanwhile, the loop runs once more.
        guard !isLooking else { return }
        isLooking = true
        while isLookDue, !isClosed {
            isLookDue = false
            wake(at: await lookOnce())
        }
        isLooking = false
    }

    private func wake(at moment: Timestamp?) {
        alarm?.cancel()
        guard let moment, !isClosed else { return }
        let wait = Int64(clamping: Int128(moment.milliseconds) - Int128(clock.now().milliseconds))
        alarm = Task { [clock] in
            await clock.sleep(.milliseconds(max(0, wait)))
            guard !Task.isCancelled else { return }
            await look()
        }
    }

    /// Looks no more.
    func close() {
        isClosed = true
        alarm?.cancel()
    }
}
