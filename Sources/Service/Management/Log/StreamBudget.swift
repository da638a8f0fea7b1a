import HTTPAPI
import Synchronization

/// Limits the number of open streams: answers that do not end by themselves, and waits.
final class StreamBudget: Sendable {
    private let count = Mutex(0)
    private let limit: Int

    init(limit: Int) { self.limit = limit }

    /// Permits one stream. Releasing the last reference to it returns the permit.
    final class Permit: Sendable {
        private let budget: StreamBudget

        fileprivate init(_ budget: StreamBudget) { self.budget = budget }

        deinit { budget.count.withLock { $0 -= 1 } }
    }

    /// - Throws: 503 if the limit is reached.
    func acquire() throws(Problem) -> Permit {
        let isTaken = count.withLock { count in
            guard count < limit else { return false }
            count += 1
            return true
        }
        guard isTaken else {
            throw Problem(
                503,
                "\(limit) streams and waits are open already, which is the limit management-streams: end one, or start the "
                    + "service with a greater limit.management-streams.")
        }
        return Permit(self)
    }
}
