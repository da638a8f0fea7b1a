import Synchronization

/// The tasks that answer requests, one for each connection. The event loop has to outlive them.
final class ConnectionTasks: Sendable {
    private struct State {
        var running: [UInt64: Task<Void, Never>] = [:]
        var last: UInt64 = 0
    }

    private let state = Mutex(State())

    func add(_ work: @escaping @Sendable () async -> Void) {
        state.withLock { state in
            state.last += 1
            let name = state.last
            state.running[name] = Task {
                await work()
                self.state.withLock { $0.running[name] = nil }
            }
        }
    }

    /// Waits until all tasks have ended. Their connections are already closed.
    func finish() async {
        for task in state.withLock({ Array($0.running.values) }) { await task.value }
    }
}
