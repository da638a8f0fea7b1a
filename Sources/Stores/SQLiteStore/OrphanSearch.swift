import Delivery
import Synchronization

/// Finds the registrations of deleted apps, in batches. Each search continues where the last one ended. After a
/// change of the accounts it begins again.
final class OrphanSearch: Sendable {
    private struct State {
        /// The version of the accounts that the search uses.
        var version: UInt64 = 0
        var position = RegistrationTable.Position()
    }

    private let state = Mutex(State())

    /// Returns the next destinations of deleted apps. If it returns fewer than `limit`, there are no more.
    func next(in table: RegistrationTable, _ accounts: AccountsFeed, limit: Int) -> [Destination] {
        state.withLock { state in
            while true {
                let snapshot = accounts.current
                if state.version != snapshot.version { state = State(version: snapshot.version) }
                let found = table.destinations(from: &state.position, limit: limit) { snapshot.app($0) == nil }
                // Check that the accounts have not changed meanwhile. Otherwise an app that is missing in the
                // snapshot may have been created and registered since.
                guard accounts.current.version == snapshot.version else { continue }
                if found.count < limit { state.position = RegistrationTable.Position() }
                return found
            }
        }
    }

    func restart() { state.withLock { $0 = State() } }
}
