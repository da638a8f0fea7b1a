package import Delivery
package import Notifications
package import Storage
package import VirtualDevices

/// The app that the first start has made, as long as nobody has used it. Tests are written with its bundle ID, because the
/// documents have it, so the first team that asks for it gets it: by a fixture, or at first sight.
package struct UntouchedApp: Sendable {
    private let registrations: any Registrations
    private let broadcasts: Broadcasts
    private let devices: VirtualDevices
    /// The team and the app that the first start has made; nil if there was none, or before the service is ready.
    private let first: @Sendable () -> (team: TeamID, bundleID: BundleID)?

    package init(
        registrations: any Registrations,
        broadcasts: Broadcasts,
        devices: VirtualDevices,
        first: @escaping @Sendable () -> (team: TeamID, bundleID: BundleID)?,
    ) {
        (self.registrations, self.broadcasts, self.devices) = (registrations, broadcasts, devices)
        self.first = first
    }

    /// Whether this is the app, and neither the accounts nor a virtual device show that somebody uses it.
    package func mayBe(_ app: App, in accounts: AccountsSnapshot) -> Bool {
        guard let first = first(), app.bundleID == first.bundleID, app.team == first.team else { return false }
        return app.hasBroadcasts && app.keep == 1
            && accounts.apps.values.count(where: { $0.team == app.team }) == 1
            && !accounts.certificates.values.contains(where: { $0.team == app.team })
            && accounts.keys.values.count(where: { $0.team == app.team }) <= 1
            && !accounts.upstreams.keys.contains(where: { $0.bundleID == app.bundleID })
            && !accounts.grants.values.contains(where: { $0.bundleID == app.bundleID })
            && !devices.all.contains(where: { $0.apps.contains { $0.app.id == app.id } })
    }

    /// Whether this is the app, and neither the accounts nor a device nor a channel show that somebody uses it.
    /// - Throws: ``StoreError`` or ``Rejection`` if the store cannot be read.
    package func isUntouched(_ app: App, in accounts: AccountsSnapshot) async throws -> Bool {
        guard mayBe(app, in: accounts) else { return false }
        for environment in Environment.allCases {
            let devices = try await registrations.devices(
                in: environment, after: nil, limit: ManagementLimits.untouchedAppDeviceScan)
            // If there are more devices, nobody knows what they have.
            guard devices.count < ManagementLimits.untouchedAppDeviceScan,
                !devices.contains(where: { $0.apps.contains { $0.app == app.id } })
            else { return false }
        }
        return try await !hasChannels(app)
    }

    private func hasChannels(_ app: App) async throws(Rejection) -> Bool {
        for environment in Environment.allCases {
            let list = ChannelList(environment: environment, app: app.id)
            do throws(Rejection) {
                if try await !broadcasts.channels(of: list, limit: 1).isEmpty { return true }
            } catch {
                guard error.reason == .featureNotEnabled else { throw error }
            }
        }
        return false
    }

    /// Deletes the app for its next team, unless somebody has used it since it was found untouched.
    /// - Returns: whether it was deleted.
    package func delete(_ app: App, from accounts: any Accounts, at time: Timestamp) async throws(StoreError) -> Bool {
        while true {
            let current = accounts.current
            guard mayBe(app, in: current) else { return false }
            do throws(StoreError) {
                _ = try await accounts.apply(.deleteApp(app.bundleID, at: time), to: current.version)
                return true
            } catch {
                // Another change came first; it may have nothing to do with the app.
                guard error.code == .conflict else { throw error }
            }
        }
    }
}
