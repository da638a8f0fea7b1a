import CampaignStore
import HTTPAPI
import Notifications
import Storage
import Synchronization

/// All apps. They are kept in memory, because every request looks one up.
final class AppDirectory: Sendable {
    enum Role: String, Sendable, Hashable, CaseIterable {
        /// The app itself, on somebody's device.
        case client
        /// The app's backend.
        case server
    }

    fileprivate struct State {
        var apps: [String: ProviderApp] = [:]
        var keys: [[UInt8]: (bundleID: String, role: Role)] = [:]
        /// How many changes this server has begun or made.
        var changes = 0
        /// The numbers of the apps that are being deleted. They are still in the store, and count as deleted.
        var deleting: Set<Int64> = []
    }

    private let state = Mutex(State())
    private let store: any CampaignStore

    init(_ store: any CampaignStore) async throws(StoreError) {
        self.store = store
        for app in try await store.apps() { publish(app) }
    }

    /// Reads the apps again, because another server may have changed them.
    func refresh() async throws(StoreError) { _ = try await readAgain() }

    /// - Returns: false if this server has changed an app meanwhile. What was read may then be older, and does not count.
    private func readAgain() async throws(StoreError) -> Bool {
        let changes = state.withLock { $0.changes }
        let apps = try await store.apps()
        return state.withLock { state in
            guard state.changes == changes else { return false }
            let present = apps.filter { !state.deleting.contains($0.number) }
            let known = Set(present.map(\.bundleID))
            for bundleID in state.apps.keys where !known.contains(bundleID) { state.remove(bundleID) }
            for app in present where state.apps[app.bundleID] != app { state.publish(app) }
            return true
        }
    }

    func app(_ bundleID: String) -> ProviderApp? { state.withLock { $0.apps[bundleID] } }

    func existingApp(_ bundleID: String) throws(Problem) -> ProviderApp {
        guard let app = app(bundleID) else { throw Self.noApp(bundleID) }
        return app
    }

    static func noApp(_ bundleID: String) -> Problem { .notFound("There is no app \(bundleID).") }

    func app(number: Int64) -> ProviderApp? { state.withLock { $0.apps.values.first { $0.number == number } } }

    var all: [ProviderApp] { state.withLock { $0.apps.values.sorted { $0.bundleID < $1.bundleID } } }

    /// Returns the app that a key belongs to, and the role that the key gives.
    func app(keyDigest: [UInt8]) -> (ProviderApp, Role)? {
        state.withLock { state in
            guard let (bundleID, role) = state.keys[keyDigest], let app = state.apps[bundleID] else { return nil }
            return (app, role)
        }
    }

    /// Adds or changes an app.
    /// - Parameter change: makes the new value from the stored one; nil if there is no such app.
    func change(
        _ bundleID: String,
        _ change: @escaping @Sendable (ProviderApp?) throws -> ProviderApp,
    ) async throws -> ProviderApp {
        let changes = state.withLock { state in
            state.changes += 1
            return state.changes
        }
        let stored = try await store.changeApp(bundleID, change)
        let isNewest = state.withLock { state in
            guard state.changes == changes else { return false }
            state.changes += 1
            state.publish(stored)
            return true
        }
        if isNewest { return stored }
        // Another request changed an app at the same time, and only the store knows which change was the last.
        do throws(StoreError) {
            while try await !readAgain() {}
        } catch {
            publish(stored)
        }
        return stored
    }

    /// Deletes an app. If that fails, the app is there again.
    /// - Parameter stop: stops its messages.
    func delete(_ app: ProviderApp, stop: () async -> Void) async throws(StoreError) {
        // Remove the keys first, so that nothing can register with an app that is being deleted.
        state.withLock { state in
            state.changes += 1
            state.remove(app.bundleID)
            state.deleting.insert(app.number)
        }
        await stop()
        do throws(StoreError) {
            try await store.deleteApp(app.number)
        } catch {
            state.withLock { state in
                state.changes += 1
                state.deleting.remove(app.number)
                if state.apps[app.bundleID] == nil { state.publish(app) }
            }
            throw error
        }
        state.withLock { state in
            state.changes += 1
            state.deleting.remove(app.number)
            // Another request may have changed it while it was being deleted.
            if state.apps[app.bundleID]?.number == app.number { state.remove(app.bundleID) }
        }
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
