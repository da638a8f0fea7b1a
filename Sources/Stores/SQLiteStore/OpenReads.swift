import Synchronization

/// Counts the reads in progress. Closing waits for them, because a connection must not be closed during a read.
final class OpenReads: Sendable {
    private struct State {
        var count = 0
        var isClosed = false
        var closing: [CheckedContinuation<Void, Never>] = []
    }

    private let state = Mutex(State())

    /// Begins a read.
    /// - Returns: whether reading is still allowed. If so, the caller must call ``end()``.
    func begin() -> Bool {
        state.withLock { state in
            guard !state.isClosed else { return false }
            state.count += 1
            return true
        }
    }

    func end() {
        let closing = state.withLock { state in
            state.count -= 1
            guard state.count == 0 else { return [CheckedContinuation<Void, Never>]() }
            defer { state.closing = [] }
            return state.closing
        }
        for continuation in closing { continuation.resume() }
    }

    /// Allows no more reads, and waits until the current ones have ended.
    func close() async {
        await withCheckedContinuation { continuation in
            let isIdle = state.withLock { state in
                state.isClosed = true
                if state.count > 0 { state.closing.append(continuation) }
                return state.count == 0
            }
            if isIdle { continuation.resume() }
        }
    }
}
