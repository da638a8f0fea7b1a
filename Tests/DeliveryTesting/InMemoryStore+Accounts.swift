package import Delivery
import Notifications
import Synchronization

extension InMemoryStore: Accounts {
    package var current: AccountsSnapshot { state.withLock { $0.accounts } }

    package func changes() -> AsyncStream<AccountsSnapshot> {
        let (stream, continuation) = AsyncStream.makeStream(
            of: AccountsSnapshot.self,
            bufferingPolicy: .bufferingNewest(1),
        )
        state.withLock { state in
            continuation.yield(state.accounts)
            state.listeners.append(continuation)
        }
        return stream
    }

    package func apply(_ change: AccountChange, to version: UInt64) async throws(StoreError) -> AccountsSnapshot {
        try state.withLock { state throws(StoreError) in
            guard state.accounts.version == version else { throw StoreError(.conflict, "The accounts have moved on.") }
            guard let next = try state.accounts.applying(change, nextAppID: state.lastAppID + 1) else {
                return state.accounts
            }
            if case .createApp = change { state.lastAppID += 1 }
            state.accounts = next
            for listener in state.listeners { listener.yield(next) }
            return next
        }
    }
}

extension AccountsSnapshot {
    /// The accounts after the change; nil where they are so already.
    fileprivate func applying(_ change: AccountChange, nextAppID: UInt32) throws(StoreError) -> AccountsSnapshot? {
        var teams = teams
        var apps = apps
        var keys = keys
        switch change {
        case .createTeam(let team):
            guard teams[team.id] == nil else { throw StoreError(.exists, "There is such a team.") }
            teams[team.id] = team
        case .createApp(let bundleID, let team):
            guard teams[team] != nil else { throw StoreError(.missing, "There is no such team.") }
            guard apps[bundleID] == nil else { throw StoreError(.exists, "There is such an app.") }
            apps[bundleID] = App(id: AppID(rawValue: nextAppID), bundleID: bundleID, team: team)
        case .createKey(let key):
            guard teams[key.team] != nil else { throw StoreError(.missing, "There is no such team.") }
            guard keys[key.id] == nil else { throw StoreError(.exists, "There is such a key.") }
            keys[key.id] = key
        case .revokeKey(let id, let moment):
            guard var key = keys[id] else { throw StoreError(.missing, "There is no such key.") }
            guard key.revoked == nil else { return nil }
            key.revoked = moment
            keys[id] = key
        }
        return AccountsSnapshot(
            version: version + 1,
            teams: Array(teams.values),
            apps: Array(apps.values),
            keys: Array(keys.values),
        )
    }
}
