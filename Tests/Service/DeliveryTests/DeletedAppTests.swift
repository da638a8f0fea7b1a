import CommonTesting
import Delivery
import SQLiteStore
import Notifications
import Testing

/// The data that a deleted app has left behind.
@Suite("Deleted apps")
struct DeletedAppTests {
    private let rig: DeliveryRig
    private let apps: [App]

    init() async throws {
        rig = try await DeliveryRig()
        let accounts = rig.store.memory
        let team = Team(id: try #require(TeamID(rawValue: "TEAM000001")), name: "Team")
        _ = try await accounts.apply(.createTeam(team))
        var apps: [App] = []
        for index in 1...3 {
            let bundleID = try #require(BundleID(rawValue: "com.example.app\(index)"))
            let snapshot = try await accounts.apply(.createApp(bundleID: bundleID, team: team.id))
            apps.append(try #require(snapshot.apps[bundleID]))
        }
        self.apps = apps
    }

    private func delete(_ app: Int) async throws {
        _ = try await rig.store.memory.apply(.deleteApp(apps[app].bundleID, at: Example.moment))
    }

    /// Waits until the store has this many registrations of the device.
    private func waitForRegistrations(_ count: Int) async throws {
        let device = Example.destination(app: 1).deviceKey
        try await wait(while: try await rig.store.memory.registrations(of: device).count != count)
    }

    @Test
    func `The data of deleted apps is removed after each deletion, and at the start if some was left`() async throws {
        #expect(apps.map(\.id.rawValue) == [1, 2, 3])
        try await delete(0)
        let running = Task { await rig.delivery.run() }
        try await waitForRegistrations(2)
        try await delete(1)
        try await waitForRegistrations(1)
        running.cancel()
        await running.value
    }
}
