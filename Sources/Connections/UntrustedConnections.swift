import NIOCore
import Synchronization

/// The connections of one listener whose clients have not shown yet who they are: neither with a certificate nor with a
/// provider token. Together they may use only so much memory; beyond it the oldest has to go.
///
/// A limit for each address does not bound that, since there are many addresses, and one network may have all of them.
final class UntrustedConnections: Sendable {
    private struct State {
        /// Oldest first; some of them are not open any more.
        var order = CircularBuffer<(number: UInt64, since: NIODeadline)>()
        /// How to end those that are open.
        var open: [UInt64: @Sendable () -> Void] = [:]
        var last: UInt64 = 0
    }

    private let limit: Int
    private let grace: TimeAmount
    private let state = Mutex(State())

    /// - Parameters:
    ///   - limit: how many there may be.
    ///   - grace: how long each has before it may be ended in another one's favour.
    init(limit: Int, grace: TimeAmount) {
        self.limit = limit
        self.grace = grace
    }

    var count: Int { state.withLock { $0.open.count } }

    /// Takes a place for a new connection, the oldest one's if there is no other.
    ///
    /// If even the oldest has only just come, all of them may be clients in the middle of their handshakes, as when a fleet
    /// comes back. To end those that are nearly done in favour of others would let none of them through, so the new one goes.
    /// - Parameter end: called on any thread, when its place is needed.
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

    /// The connection has ended, or needs no place any more. A number that is not known is no harm.
    func remove(_ number: UInt64) { state.withLock { _ = $0.open.removeValue(forKey: number) } }

    /// Forgets those that ended behind one that stays, now and then.
    private static func tidy(_ state: inout State) {
        guard state.order.count > 2 * state.open.count + 64 else { return }
        let open = state.open
        state.order.removeAll { open[$0.number] == nil }
    }
}
