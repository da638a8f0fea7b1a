import Synchronization

/// Wakes the readers of the delivery log when something was written to its files.
package final class LogSignal: Sendable {
    private struct State {
        var readers: [UInt64: AsyncStream<Void>.Continuation] = [:]
        var last: UInt64 = 0
        var hasEnded = false
    }

    private let state = Mutex(State())

    package init() {}

    /// Something was written. Called on the log's own thread; never waits.
    package func notify() {
        state.withLock { state in
            for reader in state.readers.values { reader.yield() }
        }
    }

    /// One reader's wake-ups.
    struct WakeUps {
        /// An element for one or more writings since the last element. It ends with the service.
        let stream: AsyncStream<Void>
        /// For other reasons to wake up.
        let continuation: AsyncStream<Void>.Continuation
        fileprivate let name: UInt64
    }

    /// Begins to wake a reader, who has to be given up with ``remove(_:)``.
    func add() -> WakeUps {
        let (stream, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        let name = state.withLock { state in
            state.last += 1
            if state.hasEnded { continuation.finish() } else { state.readers[state.last] = continuation }
            return state.last
        }
        return WakeUps(stream: stream, continuation: continuation, name: name)
    }

    func remove(_ wakeUps: WakeUps) {
        state.withLock { $0.readers[wakeUps.name] = nil }
        wakeUps.continuation.finish()
    }

    /// Ends the streams of all readers, and of those that begin from now on.
    package func end() {
        let readers = state.withLock { state in
            state.hasEnded = true
            defer { state.readers = [:] }
            return Array(state.readers.values)
        }
        for reader in readers { reader.finish() }
    }
}
