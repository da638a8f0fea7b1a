import Delivery
import NIOCore
import Synchronization

/// The number of streams that the provider API allows on each connection. The load is read once a second, however many
/// connections there are.
final class StreamLoad: Sendable {
    private struct State {
        var allowance: StreamAllowance
        var updated = NIODeadline.uptimeNanoseconds(0)
    }

    private static let interval = TimeAmount.seconds(1)

    private let delivery: Delivery
    private let state: Mutex<State>
    /// The number of streams that a connection may have now. Every request with a provider token reads it.
    private let current: Atomic<Int>

    init(full: Int, delivery: Delivery) {
        self.delivery = delivery
        let allowance = StreamAllowance(full: full)
        state = Mutex(State(allowance: allowance))
        current = Atomic(allowance.streams)
    }

    var streams: Int { current.load(ordering: .relaxed) }

    /// Reads the load, unless it was read in the last second.
    func update(at now: NIODeadline) {
        let isDue = state.withLock { state in
            guard state.updated + Self.interval <= now else { return false }
            state.updated = now
            return true
        }
        guard isDue else { return }
        let load = delivery.storeLoad
        let streams = state.withLock { state in
            state.allowance.update(by: load)
            return state.allowance.streams
        }
        current.store(streams, ordering: .relaxed)
    }
}
