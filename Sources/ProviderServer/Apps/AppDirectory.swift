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

    private struct State {
        var apps: [String: ProviderApp] = [:]
        var keys: [[UInt8]: (bundleID: String, role: Role)] = [:]
    }

    private let state = Mutex(State())
    private let store: any ProviderStore

    init(_ store: any ProviderStore) async throws(StoreError) {
        self.store = store
        for app in try await store.apps() { publish(app) }
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
            state.apps[app.bundleID] = nil
            state.keys = state.keys.filter { $0.value.bundleID != app.bundleID }
        }
        try await store.deleteApp(app.number)
    }

    private func publish(_ app: ProviderApp) {
        state.withLock { state in
            state.keys = state.keys.filter { $0.value.bundleID != app.bundleID }
            state.keys[app.clientKeyDigest] = (app.bundleID, .client)
            state.keys[app.serverKeyDigest] = (app.bundleID, .server)
            state.apps[app.bundleID] = app
        }
    }
}
