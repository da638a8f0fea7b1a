import Synchronization

/// The names of the existing secrets and the listeners for new ones. Stores implement ``Secrets/nameStream()`` with it.
package final class SecretNames: Sendable {
    private struct State {
        var names: Set<SecretName>
        var listeners: [UInt64: AsyncStream<SecretName>.Continuation] = [:]
        var nextListener: UInt64 = 0
    }

    private let state: Mutex<State>

    /// Creates the collection.
    /// - Parameter names: the names of the existing secrets.
    package init(_ names: Set<SecretName> = []) { state = Mutex(State(names: names)) }

    /// Adds the name of a secret. Adding a known name does no harm.
    package func insert(_ name: SecretName) {
        state.withLock { state in
            guard state.names.insert(name).inserted else { return }
            for listener in state.listeners.values { listener.yield(name) }
        }
    }

    /// The names that are known now.
    package var all: Set<SecretName> { state.withLock { $0.names } }

    /// Returns a stream of the existing names and then of each new one. A slow reader gets all of them, because a
    /// service has only a few in its life.
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
