import Synchronization

/// Counts what this node is answering for another one at the same time.
final class OpenAnswers: Sendable {
    private let limit: Int
    private let count = Mutex(0)

    init(limit: Int) { self.limit = limit }

    /// - Returns: false if the other node already has as many open questions as it may have.
    func begin() -> Bool {
        count.withLock { count in
            guard count < limit else { return false }
            count += 1
            return true
        }
    }

    func end() { count.withLock { $0 -= 1 } }
}
