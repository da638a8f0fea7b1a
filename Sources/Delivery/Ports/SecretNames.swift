import Synchronization

/// The names of the secrets that there are, and everybody who wants to hear of more: what a store answers
/// ``Secrets/names()`` with.
package final class SecretNames: Sendable {
    private struct State {
        var names: Set<SecretName>
        var listeners: [UInt64: AsyncStream<SecretName>.Continuation] = [:]
        var nextListener: UInt64 = 0
    }

    private let state: Mutex<State>

    /// - Parameter names: those that there are.
    package init(_ names: Set<SecretName> = []) { state = Mutex(State(names: names)) }

    /// There is a secret of this name. Harmless for one that is known.
    package func insert(_ name: SecretName) {
        state.withLock { state in
            guard state.names.insert(name).inserted else { return }
            for listener in state.listeners.values { listener.yield(name) }
        }
    }

    /// Those that there are, and then each that comes. None is left out for a slow reader: there are a few in a service's
    /// life.
    package func stream() -> AsyncStream<SecretName> {
        let (stream, continuation) = AsyncStream.makeStream(of: SecretName.self)
        let listener = state.withLock { state in
            for name in state.names { continuation.yield(name) }
            defer { state.nextListener += 1 }
            state.listeners[state.nextListener] = continuation
            return state.nextListener
        }
        continuation.onTermination = { [weak self] _ in
            self?.state.withLock { _ = $0.listeners.removeValue(forKey: listener) }
        }
        return stream
    }
}
