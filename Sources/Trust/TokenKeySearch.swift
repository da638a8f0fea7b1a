import Synchronization

/// Asks for token keys that are not known here, where somebody else may have made one.
///
/// Device tokens that no key opens cause it, and anybody can make up such a token. So all who wait share one question, and
/// the next question is asked an interval later at the earliest: however many there are, the store is asked ten times a
/// second, and each is refused a tenth of a second later.
final class TokenKeySearch: Sendable {
    private let interval: Duration
    private let ask: @Sendable () async throws -> Void
    private let state = Mutex(State())

    private struct State {
        var waiting: [CheckedContinuation<Void, any Error>] = []
        /// A question is under way, or the interval after one.
        var isRunning = false
    }

    /// - Parameter ask: returns when whatever there is is known.
    init(interval: Duration, ask: @escaping @Sendable () async throws -> Void) {
        self.interval = interval
        self.ask = ask
    }

    /// How many wait for the next question.
    var waitingCount: Int { state.withLock { $0.waiting.count } }

    /// Returns once a question that was asked after this call has its answer.
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
            // Nobody cancels this task.
            try? await Task.sleep(for: interval)
        }
    }
}
