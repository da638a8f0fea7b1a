import Synchronization

/// The number of connections that a process may have open in all. Each is an open file, and a process without free
/// files can neither accept nor refuse connections, nor write to its store.
package final class ConnectionBudget: Sendable {
    private let limit: Int
    private let open = Atomic(0)

    /// - Parameter limit: the number of files that the system allows, without those that the process needs for other
    ///   things.
    package init(limit: Int) { self.limit = limit }

    /// The number of open connections.
    package var openConnections: Int { open.load(ordering: .relaxed) }

    /// Reserves one connection; false if none is left.
    func reserve() -> Bool {
        guard open.add(1, ordering: .relaxed).newValue <= limit else {
            open.subtract(1, ordering: .relaxed)
            return false
        }
        return true
    }

    /// Releases one connection.
    func release() { open.subtract(1, ordering: .relaxed) }
}
