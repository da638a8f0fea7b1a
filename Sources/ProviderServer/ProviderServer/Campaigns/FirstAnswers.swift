import Synchronization

/// The first answers to a message. If nearly all of them say that the device token is bad, the tokens are probably of the
/// other environment, and a million more such answers would say nothing new.
final class FirstAnswers: Sendable {
    private let state: Mutex<(answers: Int, bad: Int)>
    private let isOver: Bool

    /// - Parameter isOver: whether the message had answers before, so that these are not its first.
    init(isOver: Bool) {
        self.isOver = isOver
        state = Mutex((0, 0))
    }

    /// Counts an answer.
    /// - Returns: Whether the message should stop.
    func add(isBadToken: Bool) -> Bool {
        guard !isOver else { return false }
        return state.withLock { state in
            guard state.answers < ProviderServerLimits.firstAnswers else { return false }
            state.answers += 1
            if isBadToken { state.bad += 1 }
            return isBadToken && state.answers >= ProviderServerLimits.fewestAnswers
                && state.bad * 10 >= state.answers * 9  // fits: at most ProviderServerLimits.firstAnswers
        }
    }
}
