import Synchronization

/// The tasks that answer requests, one for each connection. Do not shut down the event loop before they have ended.
package final class ConnectionTasks: Sendable {
    private struct State {
        var running: [UInt64: Task<Void, Never>] = [:]
        var last: UInt64 = 0
    }

    private let state = Mutex(State())
    private let executor: (any TaskExecutor)?

    /// - Parameter executor: runs the tasks; nil for the threads of all tasks.
    package init(executor: (any TaskExecutor)? = nil) { self.executor = executor }

    package func add(_ work: @escaping @Sendable () async -> Void) {
        state.withLock { state in
            state.last += 1
            let name = state.last
            state.running[name] = Task(executorPreference: executor) {
                await work()
                self.state.withLock { $0.running[name] = nil }
            }
        }
    }

    /// Waits until all tasks have ended. Call this after the connections have been closed.
    package func finish() async {
        for task in state.withLock({ Array($0.running.values) }) { await task.value }
    }
}
