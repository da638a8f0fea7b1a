import Synchronization

/// How many connections are open, up to a limit.
final class ConnectionCount: Sendable {
    private let open = Mutex(0)

    /// - Returns: Whether there is room for one more; then ``leave()`` has to follow.
    func enter() -> Bool {
        open.withLock { open in
            guard open < MetricsEndpoint.maximumConnections else { return false }
            open += 1
            return true
        }
    }

    func leave() { open.withLock { $0 -= 1 } }
}
