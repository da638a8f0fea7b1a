import Synchronization

/// Asks the store for token keys that are not known here, because another node may have made one.
///
/// A device token that no key opens causes a look-up, and anybody can invent such a token. So all that wait share one
/// look-up, and the next one starts an interval later at the earliest. The store is asked at most ten times a second,
/// and an invented token is refused a tenth of a second later.
final class TokenKeySearch: Sendable {
    private let interval: Duration
    private let sleep: @Sendable (Duration) async -> Void
    private let ask: @Sendable () async throws -> Void
    private let state = Mutex(State())

    private struct State {
        var waiting: [CheckedContinuation<Void, any Error>] = []
        /// Whether a look-up is under way, or the interval after one.
        var isRunning = false
    }

    /// - Parameters:
    ///   - sleep: waits for an interval.
    ///   - ask: returns when all keys of the store are known.
    init(
        interval: Duration,
        sleep: @escaping @Sendable (Duration) async -> Void = { duration in
            // The sleep cannot fail, because nobody cancels the task of the look-ups.
            try? await Task.sleep(for: duration)
        },
        ask: @escaping @Sendable () async throws -> Void,
    ) {
        self.interval = interval
        self.sleep = sleep
        self.ask = ask
    }

    /// The number of callers that wait for the next look-up.
    var waitingCount: Int { state.withLock { $0.waiting.count } }

    /// Starts or joins a look-up that begins after this call, and returns when it has ended.
    func run() async throws {
        try await withCheckedThrowingContinuation { continuation in
            let begins = state.withLock { state in
                state.waiting.append(continuation)
                defer { state.isRunning = true }
                return !state.isRunning
            }
            if begins { Task { await answerAll() } }
        }
    }

    private func answerAll() async {
        while true {
            let waiting = state.withLock { state in
                defer { state.waiting = [] }
                state.isRunning = !state.waiting.isEmpty
                return state.waiting
            }
            guard !waiting.isEmpty else { return }
            let answer: Result<Void, any Error>
            do {
                answer = .success(try await ask())
            } catch {
                answer = .failure(error)
            }
            for continuation in waiting { continuation.resume(with: answer) }
            await sleep(interval)
        }
    }
}
