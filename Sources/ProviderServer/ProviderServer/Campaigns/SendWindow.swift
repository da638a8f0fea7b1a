import Synchronization

/// The largest number of notifications of a message that wait for an answer. If the service ends connections again and
/// again, those under way are lost each time, so there should be fewer of them.
final class SendWindow: Sendable {
    private let state = Mutex(State())

    private struct State {
        var size = ProviderServerLimits.inFlight
        /// How many answers came since the size last changed.
        var answers = 0
    }

    var size: Int { state.withLock { $0.size } }

    /// The service answered a notification. After as many answers as the size, it grows by a half.
    func grow() {
        state.withLock { state in
            state.answers += 1
            guard state.size < ProviderServerLimits.inFlight, state.answers >= state.size else { return }
            // fits: at most ProviderServerLimits.inFlight
            state.size = min(ProviderServerLimits.inFlight, state.size + max(1, state.size / 2))
            state.answers = 0
        }
    }

    /// A connection ended with notifications under way.
    func shrink() {
        state.withLock { state in
            state.size = max(ProviderServerLimits.smallestWindow, state.size / 4)
            state.answers = 0
        }
    }
}
