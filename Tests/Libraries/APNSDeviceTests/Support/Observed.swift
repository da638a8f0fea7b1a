import Synchronization

/// A value that several tasks change. Tests wait until it meets a condition.
final class Observed<Value: Sendable>: Sendable {
    private struct Waiter {
        let number: Int
        let isMet: @Sendable (Value) -> Bool
        let continuation: CheckedContinuation<Void, Never>
    }

    private struct State {
        var value: Value
        var waiters: [Waiter] = []
        var lastNumber = 0
    }

    private let state: Mutex<State>

    init(_ value: Value) { state = Mutex(State(value: value)) }

    var value: Value { state.withLock { $0.value } }

    func update(_ change: (inout Value) -> Void) {
        let met = state.withLock { state in
            change(&state.value)
            let value = state.value
            let met = state.waiters.filter { $0.isMet(value) }
            state.waiters.removeAll { waiter in met.contains { $0.number == waiter.number } }
            return met
        }
        for waiter in met { waiter.continuation.resume() }
    }

    /// Waits until the value meets the condition. Throws if the test is cancelled, for example by its time limit.
    @discardableResult
    func wait(until isMet: @escaping @Sendable (Value) -> Bool) async throws -> Value {
        let number = state.withLock { state in
            state.lastNumber += 1
            return state.lastNumber
        }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isOver = state.withLock { state in
                    if isMet(state.value) || Task.isCancelled { return true }
                    state.waiters.append(Waiter(number: number, isMet: isMet, continuation: continuation))
                    return false
                }
                if isOver { continuation.resume() }
            }
        } onCancel: {
            let waiter = state.withLock { state in
                state.waiters.firstIndex { $0.number == number }.map { state.waiters.remove(at: $0) }
            }
            waiter?.continuation.resume()
        }
        try Task.checkCancellation()
        return value
    }
}
