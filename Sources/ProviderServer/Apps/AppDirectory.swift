import Delivery
import Notifications
import ProviderStore
import Synchronization

/// All apps. They are kept in memory, because every request looks one up.
final class AppDirectory: Sendable {
    enum Role: Sendable, Hashable {
        /// The app itself, on somebody's device.
        case client
        /// The app's backend.
        case server
    }

    fileprivate struct State {
        var apps: [String: ProviderApp] = [:]
        var keys: [[UInt8]: (bundleID: String, role: Role)] = [:]
        /// How many changes this server has made.
        var changes = 0
    }

    private let state = Mutex(State())
    private let store: any ProviderStore

    init(_ store: any ProviderStore) async throws(StoreError) {
        self.store = store
        for app in try await store.apps() { publish(app) }
    }

    /// Reads the apps again, because another server may have changed them.
    func refresh() async throws(StoreError) {
        let changes = state.withLock { $0.changes }
        let apps = try await store.apps()
        state.withLock { state in
            // If this server has changed an app meanwhile, what was read may be older.
            guard state.changes == changes else { return }
            let known = Set(apps.map(\.bundleID))
            for bundleID in state.apps.keys where !known.contains(bundleID) { state.remove(bundleID) }
            for app in apps where state.apps[app.bundleID] != app { state.publish(app) }
        }
    }

    func app(_ bundleID: String) -> ProviderApp? { state.withLock { $0.apps[bundleID] } }

    func app(number: Int64) -> ProviderApp? { state.withLock { $0.apps.values.first { $0.number == number } } }

    var all: [ProviderApp] { state.withLock { $0.apps.values.sorted { $0.bundleID < $1.bundleID } } }

    /// Returns the app that a key belongs to, and the role that the key gives.
    func app(keyDigest: [UInt8]) -> (ProviderApp, Role)? {
        state.withLock { state in
            guard let (bundleID, role) = state.keys[keyDigest], let app = state.apps[bundleID] else { return nil }
            return (app, role)
        }
    }

    func put(_ app: ProviderApp) async throws(StoreError) -> ProviderApp {
        let stored = try await store.put(app)
        publish(stored)
        return stored
    }

    func delete(_ app: ProviderApp) async throws(StoreError) {
        // Remove the keys first, so that nothing can register with an app that is being deleted.
        state.withLock { state in
            state.changes += 1
            state.remove(app.bundleID)
        }
        try await store.deleteApp(app.number)
        state.withLock { $0.changes += 1 }
    }

    private func publish(_ app: ProviderApp) {
        state.withLock { state in
            state.changes += 1
            state.publish(app)
        }
    }
}

extension AppDirectory.State {
    fileprivate mutating func remove(_ bundleID: String) {
        apps[bundleID] = nil
        keys = keys.filter { $0.value.bundleID != bundleID }
    }

    fileprivate mutating func publish(_ app: ProviderApp) {
        remove(app.bundleID)
        keys[app.clientKeyDigest] = (app.bundleID, .client)
        keys[app.serverKeyDigest] = (app.bundleID, .server)
        apps[app.bundleID] = app
    }
}
