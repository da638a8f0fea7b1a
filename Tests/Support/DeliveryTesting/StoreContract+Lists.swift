import Delivery
import Notifications
import Testing

extension StoreContract {
    static let listPromises: [Promise] = [
        Promise("without devices the list is empty", listsNothing),
        Promise("devices are listed in the order of their IDs as unsigned numbers", listsInOrder),
        Promise("pages list every device once, wherever they begin", listsInPages),
        Promise(
            "a listed device has all of its apps, even ended ones, with the contents of their mailboxes", listsApps),
        Promise("each environment has its own list", listsEnvironment),
        Promise("a device whose apps were all deleted is not listed", listsNoOrphans),
    ]

    /// IDs at both ends and around the middle, where signed numbers become negative.
    private static let numbers: [UInt64] = [
        0, 1, 2, 1 << 32, 1 << 63 - 1, 1 << 63, 1 << 63 + 1, .max - 1, .max,
    ]

    private static func key(_ number: UInt64, in environment: Environment = .production) -> DeviceKey {
        DeviceKey(environment: environment, device: DeviceID(rawValue: number))
    }

    private static func register(_ ports: Ports, apps: ClosedRange<UInt32> = 1...1) async throws {
        // Neither in their order nor in the reverse one.
        for number in numbers[4...] + numbers[..<4] {
            for app in apps.reversed() {
                let destination = Samples.destination(key(number), app: app)
                _ = try await ports.registrations.register(destination, tokenKeyID: 7, at: Samples.moment)
            }
        }
    }

    @Sendable
    private static func listsNothing(_ ports: Ports) async throws {
        #expect(try await ports.registrations.devices(in: .production, after: nil, limit: 10).isEmpty)
    }

    @Sendable
    private static func listsInOrder(_ ports: Ports) async throws {
        try await register(ports)
        let listed = try await ports.registrations.devices(in: .production, after: nil, limit: 100)
        #expect(listed.map(\.key) == numbers.map { key($0) })
    }

    @Sendable
    private static func listsInPages(_ ports: Ports) async throws {
        try await register(ports, apps: 1...3)
        for limit in 1...numbers.count {
            var (listed, last): ([ListedDevice], DeviceID?) = ([], nil)
            while true {
                let page = try await ports.registrations.devices(in: .production, after: last, limit: limit)
                #expect(page.count <= limit)
                listed += page
                guard page.count == limit else { break }
                last = page.last?.key.device
            }
            #expect(listed.map(\.key) == numbers.map { key($0) })
            #expect(listed.allSatisfy { $0.apps.map(\.app.rawValue) == [1, 2, 3] })
        }
        // Begin after an ID that no device has.
        let rest = try await ports.registrations.devices(in: .production, after: DeviceID(rawValue: 3), limit: 2)
        #expect(rest.map(\.key.device.rawValue) == Array(numbers[3...4]))
    }

    @Sendable
    private static func listsApps(_ ports: Ports) async throws {
        for app in 1...3 as ClosedRange<UInt32> {
            _ = try await ports.registrations.register(
                Samples.destination(app: app), tokenKeyID: app, at: Samples.moment)
        }
        let stored = try await ports.mailboxes.store([
            Samples.entry(Samples.destination(app: 1)), Samples.entry(Samples.destination(app: 3)),
        ]).map { try $0.get() }
        #expect(stored.count == 2)
        let ended = try await ports.registrations.end(Samples.destination(app: 3), at: Samples.later)
        let listed = try await ports.registrations.devices(in: .production, after: nil, limit: 2)
        #expect(
            listed == [
                ListedDevice(
                    key: Samples.device,
                    apps: [
                        ListedApp(
                            app: AppID(rawValue: 1), registration: first(tokenKeyID: 1),
                            stored: stored.first),
                        ListedApp(app: AppID(rawValue: 2), registration: first(tokenKeyID: 2), stored: nil),
                        ListedApp(app: AppID(rawValue: 3), registration: try #require(ended), stored: nil),
                    ])
            ])
    }

    private static func first(tokenKeyID: UInt32) -> Registration {
        Registration(firstSealedWith: tokenKeyID, at: Samples.moment)
    }

    @Sendable
    private static func listsEnvironment(_ ports: Ports) async throws {
        for device in [Samples.device, Samples.otherDevice, Samples.twin] {
            _ = try await ports.registrations.register(Samples.destination(device), tokenKeyID: 7, at: Samples.moment)
        }
        let here = try await ports.registrations.devices(in: .production, after: nil, limit: 10)
        #expect(here.map(\.key) == [Samples.otherDevice, Samples.device])
        let there = try await ports.registrations.devices(in: .development, after: nil, limit: 10)
        #expect(there.map(\.key) == [Samples.twin])
    }

    @Sendable
    private static func listsNoOrphans(_ ports: Ports) async throws {
        let team = try Samples.team()
        _ = try await ports.accounts.apply(.createTeam(team))
        let bundleID = try Samples.bundleID("com.example.app")
        let accounts = try await ports.accounts.apply(.createApp(bundleID: bundleID, team: team.id))
        let app = try #require(accounts.apps[bundleID])
        let destination = Samples.destination(app: app.id.rawValue)
        _ = try await ports.registrations.register(destination, tokenKeyID: 7, at: Samples.moment)
        #expect(try await ports.registrations.devices(in: .production, after: nil, limit: 10).count == 1)
        _ = try await ports.accounts.apply(.deleteApp(bundleID, at: Samples.later))
        #expect(try await ports.registrations.removeOrphaned(limit: 10) == 1)
        #expect(try await ports.registrations.devices(in: .production, after: nil, limit: 10).isEmpty)
    }
}
