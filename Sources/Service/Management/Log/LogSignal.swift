import Synchronization

/// Wakes the readers of the delivery log when entries were written to its files.
package final class LogSignal: Sendable {
    private struct State {
        var readers: [UInt64: AsyncStream<Void>.Continuation] = [:]
        var last: UInt64 = 0
        var hasEnded = false
    }

    private let state = Mutex(State())

    package init() {}

    /// Tells all readers that entries were written. The log calls this on its own thread after each write, so it
    /// never waits.
    package func notify() {
        state.withLock { state in
            for reader in state.readers.values { reader.yield() }
        }
    }

    /// The wake-ups of one reader.
    struct WakeUps {
        /// Has an element after one or more writes. It ends when the service ends.
        let stream: AsyncStream<Void>
        /// Lets the reader be woken for other reasons too.
        let continuation: AsyncStream<Void>.Continuation
        fileprivate let name: UInt64
    }

    /// Whether the service ends.
    var hasEnded: Bool { state.withLock { $0.hasEnded } }

    /// Adds a reader. The caller must remove it with ``remove(_:)``.
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

    /// Ends the streams of all readers, and of readers that are added later.
    package func end() {
        let readers = state.withLock { state in
            state.hasEnded = true
            defer { state.readers = [:] }
            return Array(state.readers.values)
        }
        for reader in readers { reader.finish() }
    }
}
