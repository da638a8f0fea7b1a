import Delivery
import Synchronization

/// The registrations as the writer sees them inside a transaction. They are read from memory and not with SQL, because
/// storing looks one up for each notification, and its row may be on a page that nothing else needs.
///
/// This is correct because there is only one writer. Before each transaction the table in memory equals the database:
/// after a commit, the writer's thread updates the table before it begins the next transaction. This value has the
/// changes of the current transaction, in the order of its jobs, and forgets them when it ends. A job adds its changes
/// last, when only a rollback of the whole transaction can undo them. If it is uncertain whether a COMMIT succeeded, it
/// counts as failed while the database is open: only the next start may find it in the log, and that start reads
/// everything again.
final class RegistrationsInWriting: Sendable {
    private let table: RegistrationTable
    /// Nil if the registration was removed.
    private let changed = Mutex<[Destination: Registration?]>([:])

    init(_ table: RegistrationTable) { self.table = table }

    /// Notes a change that is not committed yet.
    func wrote(_ registration: Registration?, of destination: Destination) {
        changed.withLock { $0[destination] = .some(registration) }
    }

    /// Called after the table has the committed changes, or after a rollback.
    func transactionEnded() { changed.withLock { $0.removeAll() } }

    /// The registrations of several destinations, in their order.
    func registrations(of destinations: [Destination]) -> [Registration?] {
        let committed = table.known(destinations)
        return changed.withLock { changed in
            guard !changed.isEmpty else { return committed.map { $0?.registration } }
            return destinations.indices.map { changed[destinations[$0]] ?? committed[$0]?.registration }
        }
    }
}
