import Synchronization

/// Collects values. Tests can wait for them.
final class Recorder<Value: Sendable>: Sendable {
    private struct State {
        var values: [Value] = []
        var waiters: [(isMet: @Sendable ([Value]) -> Bool, continuation: CheckedContinuation<Void, Never>)] = []
    }

    private let state = Mutex(State())

    var values: [Value] { state.withLock { $0.values } }

    func record(_ value: Value) {
        let met = state.withLock { state -> [CheckedContinuation<Void, Never>] in
            state.values.append(value)
            let values = state.values
            let met = state.waiters.filter { $0.isMet(values) }.map(\.continuation)
            state.waiters.removeAll { $0.isMet(values) }
            return met
        }
        for continuation in met { continuation.resume() }
    }

    /// Waits until there are this many values, and returns the first ones.
    func first(_ count: Int) async -> [Value] {
        await wait { $0.count >= count }
        return values
    }

    /// Waits until the values meet a condition.
    func wait(until isMet: @escaping @Sendable ([Value]) -> Bool) async {
        await withCheckedContinuation { continuation in
            let isMetAlready = state.withLock { state in
                if isMet(state.values) { return true }
                state.waiters.append((isMet, continuation))
                return false
            }
            if isMetAlready { continuation.resume() }
        }
    }
}
