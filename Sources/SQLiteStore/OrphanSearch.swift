import Delivery
import Synchronization

/// Finds the registrations of deleted apps. It continues where the last batch ended, and begins again when the accounts
/// have changed.
final class OrphanSearch: Sendable {
    private struct State {
        /// The version of the accounts that it uses.
        var version: UInt64 = 0
        var position = RegistrationTable.Position()
    }

    private let state = Mutex(State())

    /// The next destinations of deleted apps. There are no more if it returns fewer than `limit`.
    func next(in table: RegistrationTable, _ accounts: AccountsFeed, limit: Int) -> [Destination] {
        state.withLock { state in
            while true {
                let snapshot = accounts.current
                if state.version != snapshot.version { state = State(version: snapshot.version) }
                let found = table.destinations(from: &state.position, limit: limit) { snapshot.app($0) == nil }
                // Check again, because an app that is not in the snapshot may have been created and registered
                // meanwhile.
                guard accounts.current.version == snapshot.version else { continue }
                if found.count < limit { state.position = RegistrationTable.Position() }
                return found
            }
        }
    }

    func restart() { state.withLock { $0 = State() } }
}
