import Delivery
import Synchronization

/// The registrations as the writer sees them, in the middle of a transaction: without SQL, because storing looks at one for
/// each notification, and its row may be on a page that nothing else asks for.
///
/// That is right because there is one writer. Before each of its transactions the table in memory is what the database
/// holds: what a transaction has changed goes into the table on the writer's own thread after the commit, and before the
/// next transaction begins. What the present transaction has changed so far is here, in the order of its jobs, and is
/// forgotten when it ends. A job notes what it wrote last of all, when nothing of it can be undone any more but by the end
/// of the whole transaction. A COMMIT that is in doubt is one that did not happen for as long as the database is open:
/// only another start may find it in the log, and reads everything from there.
final class RegistrationsInWriting: Sendable {
    private let table: RegistrationTable
    /// Nil for what was removed.
    private let changed = Mutex<[Destination: Registration?]>([:])

    init(_ table: RegistrationTable) { self.table = table }

    /// What was written and is not committed.
    func wrote(_ registration: Registration?, of destination: Destination) {
        changed.withLock { $0[destination] = .some(registration) }
    }

    /// The transaction was committed, and the table has what it changed; or it came to nothing.
    func transactionEnded() { changed.withLock { $0.removeAll() } }

    /// Those of several destinations, in their order.
    func registrations(of destinations: [Destination]) -> [Registration?] {
        let committed = table.known(destinations)
        return changed.withLock { changed in
            guard !changed.isEmpty else { return committed.map { $0?.registration } }
            return destinations.indices.map { changed[destinations[$0]] ?? committed[$0]?.registration }
        }
    }
}
