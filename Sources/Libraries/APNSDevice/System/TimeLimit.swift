import Synchronization

/// Runs work with a time limit.
package enum TimeLimit {
    /// Runs `work` for at most the given time. After that `work` is cancelled, and the function returns without
    /// waiting for it, so that an app that ignores the cancellation does not block anything.
    /// - Returns: nil if the time was exceeded.
    package static func run<Value: Sendable>(
        _ limit: Duration,
        _ clock: any Clock<Duration>,
        _ work: @escaping @Sendable () async -> Value,
    ) async -> Value? {
        let race = Race<Value>()
        return await withCheckedContinuation { continuation in
            race.begin(continuation)
            let working = Task { race.end(await work()) }
            let timing = Task {
                // The sleep is cancelled if the work finished first.
                guard (try? await clock.sleep(for: limit)) != nil else { return }
                if race.end(nil) { working.cancel() }
            }
            race.whenEnded { timing.cancel() }
        }
    }

    /// Two tasks that compete for one continuation. The first one to end resumes it.
    private final class Race<Value: Sendable>: Sendable {
        private struct State {
            var continuation: CheckedContinuation<Value?, Never>?
            var isOver = false
            var afterwards: (@Sendable () -> Void)?
        }

        private let state = Mutex(State())

        func begin(_ continuation: CheckedContinuation<Value?, Never>) {
            state.withLock { $0.continuation = continuation }
        }

        func whenEnded(_ afterwards: @escaping @Sendable () -> Void) {
            let isOver = state.withLock { state in
                if !state.isOver { state.afterwards = afterwards }
                return state.isOver
            }
            if isOver { afterwards() }
        }

        /// Ends the race.
        /// - Returns: Whether this call was the first.
        @discardableResult
        func end(_ value: Value?) -> Bool {
            let (continuation, afterwards) = state.withLock { state in
                defer { (state.continuation, state.afterwards, state.isOver) = (nil, nil, true) }
                return (state.continuation, state.afterwards)
            }
            continuation?.resume(returning: value)
            afterwards?()
            return continuation != nil
        }
    }
}
