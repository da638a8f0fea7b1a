import Synchronization

/// Counts what several tasks do.
final class Counter: Sendable {
    private let value = Mutex(0)

    var count: Int { value.withLock { $0 } }

    /// - Returns: the number of this one, from 1.
    func next() -> Int {
        value.withLock { value in
            value += 1
            return value
        }
    }
}
