import Synchronization

/// How many connections a process may have open in all, whoever they belong to: each is an open file, and a process
/// that has used up its files can neither accept nor refuse, nor write to its store.
package final class ConnectionBudget: Sendable {
    private let limit: Int
    private let open = Atomic(0)

    /// - Parameter limit: what the system grants, less what else the process needs.
    package init(limit: Int) { self.limit = limit }

    /// How many are open now.
    package var openConnections: Int { open.load(ordering: .relaxed) }

    /// Takes one; false when there is none left.
    func take() -> Bool {
        guard open.add(1, ordering: .relaxed).newValue <= limit else {
            open.subtract(1, ordering: .relaxed)
            return false
        }
        return true
    }

    /// Gives one back.
    func giveBack() { open.subtract(1, ordering: .relaxed) }
}
