import NIOCore
import Synchronization

/// The connections of one listener whose clients have shown neither a certificate nor a provider token yet. Their
/// number is limited, because of the memory that they use. Beyond the limit the oldest is closed.
///
/// Limits for each address do not suffice: there are many addresses, and one network may own all of them.
final class UntrustedConnections: Sendable {
    private struct State {
        /// The oldest first. Some of them have ended already.
        var order = CircularBuffer<(number: UInt64, since: NIODeadline)>()
        /// How to close those that are open.
        var open: [UInt64: @Sendable () -> Void] = [:]
        var last: UInt64 = 0
    }

    private let limit: Int
    private let grace: TimeAmount
    private let state = Mutex(State())

    /// - Parameters:
    ///   - limit: how many there may be.
    ///   - grace: the time after which one may be closed to make room for another.
    init(limit: Int, grace: TimeAmount) {
        self.limit = limit
        self.grace = grace
    }

    var count: Int { state.withLock { $0.open.count } }

    /// Takes a place for a new connection. If there is none, takes that of the oldest.
    ///
    /// If even the oldest is very young, all of them may be clients in the middle of their handshakes, as when a fleet
    /// comes back. If these were closed, no client would succeed, so the new connection is refused.
    /// - Parameter end: called on any thread when the place is needed.
    /// - Returns: the connection's number; nil if there is no place.
    func admit(at now: NIODeadline, end: @escaping @Sendable () -> Void) -> UInt64? {
        let (number, oldest) = state.withLock { state -> (UInt64?, (@Sendable () -> Void)?) in
            while let first = state.order.first, state.open[first.number] == nil { state.order.removeFirst() }
            var oldest: (@Sendable () -> Void)?
            if state.open.count >= limit {
                guard let first = state.order.first, first.since + grace <= now else { return (nil, nil) }
                oldest = state.open.removeValue(forKey: first.number)
                state.order.removeFirst()
            }
            state.last += 1
            state.open[state.last] = end
            state.order.append((state.last, now))
            Self.tidy(&state)
            return (state.last, oldest)
        }
        oldest?()
        return number
    }

    /// Called when the connection has ended or its client has shown trust. An unknown number does no harm.
    func remove(_ number: UInt64) { state.withLock { _ = $0.open.removeValue(forKey: number) } }

    /// Removes connections from the order that have ended behind one that stays. This is done only now and then.
    private static func tidy(_ state: inout State) {
        guard state.order.count > 2 * state.open.count + 64 else { return }
        let open = state.open
        state.order.removeAll { open[$0.number] == nil }
    }
}
