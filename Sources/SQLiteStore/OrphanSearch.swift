import Delivery
import Synchronization

/// Looks for the registrations of deleted apps, one part of the table after the other, so that it does not begin anew for
/// each batch that is removed. It looks again at everything once the accounts have changed.
final class OrphanSearch: Sendable {
    private struct State {
        /// The accounts that it looks by.
        var version: UInt64 = 0
        var position = RegistrationTable.Position()
    }

    private let state = Mutex(State())

    /// The next destinations of deleted apps; fewer than `limit` where there are no more.
    func next(in table: RegistrationTable, _ accounts: AccountsFeed, limit: Int) -> [Destination] {
        state.withLock { state in
            while true {
                let snapshot = accounts.current
                if state.version != snapshot.version { state = State(version: snapshot.version) }
                let found = table.destinations(from: &state.position, limit: limit) { snapshot.app($0) == nil }
                // Otherwise an app may have been created, and registered, that is not in the snapshot.
                guard accounts.current.version == snapshot.version else { continue }
                if found.count < limit { state.position = RegistrationTable.Position() }
                return found
            }
        }
    }

    func restart() { state.withLock { $0 = State() } }
}
