import Delivery
import Synchronization

/// The registrations as the writer sees them inside a transaction. They are read from memory, not with SQL: storing
/// looks one up for each notification, and its row may be on a page that nothing else needs.
///
/// This is correct because there is only one writer. After a commit, the writer's thread updates the table in memory
/// before it begins the next transaction. So at the beginning of a transaction, the table equals the database. This
/// type holds the changes of the current transaction in the order of its jobs, and forgets them at its end. A job
/// adds its changes as its last step, when only a rollback of the whole transaction can undo them.
///
/// If it is uncertain whether a COMMIT succeeded, it counts as failed while the database is open. Only the next start
/// may find the transaction in the log, and that start reads everything again.
final class RegistrationsInWriting: Sendable {
    private let table: RegistrationTable
    /// The changed registrations; nil if a registration was removed.
    private let changed = Mutex<[Destination: Registration?]>([:])

    init(_ table: RegistrationTable) { self.table = table }

    /// Records a change that is not committed yet.
    func wrote(_ registration: Registration?, of destination: Destination) {
        changed.withLock { $0[destination] = .some(registration) }
    }

    /// Forgets the changes. Called after the table has the committed changes, or after a rollback.
    func transactionEnded() { changed.withLock { $0.removeAll() } }

    /// The registrations of several destinations, in their order.
    func registrations(of destinations: [Destination]) -> [Registration?] {
        let committed = table.knownRegistration(ofEach: destinations)
        return changed.withLock { changed in
            guard !changed.isEmpty else { return committed.map { $0?.registration } }
            return destinations.indices.map { changed[destinations[$0]] ?? committed[$0]?.registration }
        }
    }
}
