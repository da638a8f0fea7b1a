import Delivery
import HTTPAPI
import Journal
import Matching
import Notifications
import Storage
import Trust
import VirtualDevices

// Makes fixtures: everything that a test needs, in one request.
extension ManagementAPI {
    /// Makes everything in a fixture. If a part fails, removes what was made.
    func createFixture(
        _ fixture: ManagementMessages.Fixture,
        replaces: Bool,
    ) async throws -> ManagementMessages.Fixture {
        let testing = try testing("A fixture")
        return try await testing.devices.inTurn { [self] in
            let free = try await untouchedApp(for: fixture, testing)
            let plan = try FixturePlan(fixture, replaces: replaces, taking: free?.bundleID, self, testing)
            try await plan.checkEndpoints()
            for team in plan.replaced { try await remove(team) }
            let taken = free.flatMap { accounts.current.apps[$0.bundleID] }
            if let taken { try await takeOver(taken, testing) }
            var begun: [TeamID] = []
            do {
                var document = plan.document
                for (index, team) in plan.teams.enumerated() {
                    begun.append(team.id)
                    for (number, change) in team.changes.enumerated() {
                        do throws(StoreError) {
                            _ = try await accounts.apply(change)
                        } catch {
                            // The team is somebody else's, who has made it since the plan, so it is not removed.
                            if number == 0, error.code == .exists { begun.removeLast() }
                            throw error
                        }
                    }
                    let written = document.teams?[index].devices
                    document.teams?[index].devices = try await create(team.devices, of: team.id, written, testing)
                }
                document.service = describe(testing)
                return document
            } catch {
                // The removal may fail too. Report the first error, because it is the cause.
                for team in begun { try? await remove(team) }
                if let taken { _ = try? await accounts.apply(.createApp(bundleID: taken.bundleID, team: taken.team)) }
                throw error
            }
        }
    }

    /// The service's addresses, and the state of its journal: what comes after `newest` comes after the fixture.
    private func describe(_ testing: ManagementTesting) -> JSONValue {
        var members = testing.service().members
        members["journal"] = [
            "keep": .integer(Int64(clamping: testing.journal.keep)),
            "newest": .integer(Int64(clamping: testing.journal.newest)),
        ]
        return .object(members)
    }

    /// The app that the first start has made, if the fixture asks for it and nobody has used it. The fixture's team then
    /// gets it.
    private func untouchedApp(
        for fixture: ManagementMessages.Fixture,
        _ testing: ManagementTesting,
    ) async throws -> App? {
        let accounts = self.accounts.current
        guard let first = testing.first(), let app = accounts.apps[first.bundleID],
            (fixture.teams ?? []).contains(where: {
                $0.apps?.contains { $0.bundleID == first.bundleID.rawValue } == true
            })
        else { return nil }
        do {
            return try await untouched(testing).isUntouched(app, in: accounts) ? app : nil
        } catch is Rejection {
            throw Problem(503, "The channels of the app \(app.bundleID) cannot be read now.")
        }
    }

    private func untouched(_ testing: ManagementTesting) -> UntouchedApp {
        UntouchedApp(
            registrations: parts.registrations, broadcasts: parts.broadcasts, devices: testing.devices,
            first: testing.first)
    }

    private func takeOver(_ app: App, _ testing: ManagementTesting) async throws {
        guard try await untouched(testing).delete(app, from: accounts, at: now) else {
            throw Problem(409, "Somebody has just begun to use the app \(app.bundleID).")
        }
    }

    private func create(
        _ planned: [FixturePlan.PlannedDevice],
        of team: TeamID,
        _ written: [ManagementMessages.FixtureDevice]?,
        _ testing: ManagementTesting,
    ) async throws -> [ManagementMessages.FixtureDevice]? {
        guard var written else { return nil }
        let apps = accounts.current.apps
        // Some together, because a store that writes to disk takes them in one go.
        let made = try await planned.mapInTasks(atMost: ManagementLimits.devicesAtOnce) { device in
            try await Self.create(device, of: team, apps, testing)
        }
        for (index, device) in made.enumerated() {
            written[index].deviceID = device.key.device.description
            // An app whose bundle ID is also a topic of another app keeps its own token.
            let services = device.apps.flatMap(\.tokens)
            let own = device.apps.map { ($0.app.bundleID.rawValue, $0.token) }
            written[index].tokens = Dictionary(services + own) { _, last in last }
            if written[index].subscriptions != nil {
                written[index].subscriptions = device.subscriptions.map(ManagementMessages.FixtureSubscription.init)
            }
        }
        return written
    }

    private static func create(
        _ device: FixturePlan.PlannedDevice,
        of team: TeamID,
        _ apps: [BundleID: App],
        _ testing: ManagementTesting,
    ) async throws -> VirtualDevice {
        let virtualApps = try device.apps.map { bundleID in
            guard let app = apps[bundleID], app.team == team else {
                throw StoreError(.conflict, "The accounts have changed meanwhile: try again.")
            }
            return VirtualApp(app, named: device.tokens[bundleID] ?? [:])
        }
        let subscriptions = device.subscriptions.compactMap { planned in
            virtualApps.first { $0.app.bundleID == planned.bundleID }.map { planned.wanted(of: $0.app) }
        }
        return try await testing.devices.create(
            name: device.name, team: team, apps: virtualApps, behaviour: device.behaviour, power: device.power,
            subscriptions: subscriptions)
    }

    /// Deletes a team with everything that belongs to it, including its virtual devices and its requests in the
    /// journal.
    func remove(_ team: TeamID) async throws {
        _ = try await accounts.apply(.deleteTeam(team, at: now))
        await forget(team)
    }

    /// Removes the virtual devices and the journal's requests of a team that was deleted.
    func forget(_ team: TeamID) async {
        parts.clock.teams.forget(team)
        guard let testing = parts.testing else { return }
        await testing.devices.removeAll(of: team)
        testing.unknownKeys?.forget(team)
        var match = RequestMatch()
        match.team = team
        _ = testing.journal.clear(match)
    }
}

// Creates, changes and removes virtual devices.
extension ManagementAPI {
    func createDevice(_ request: ManagementMessages.NewDevice) async throws -> ManagementMessages.Device {
        let testing = try testing("A virtual device")
        let device = try await testing.devices.inTurn { [self] in
            let team = try teamID(request.team)
            _ = try present(accounts.current.teams[team], "team", team)
            let planned = try await FixturePlan.joining(request.device, team, self, testing)
            let device = try await Self.create(planned, of: team, accounts.current.apps, testing)
            do {
                try await Self.subscribe(device, to: request.channels ?? [:], testing)
            } catch {
                await testing.devices.remove(device.key.device)
                throw error
            }
            return device
        }
        return try await message(device, testing)
    }

    private static func subscribe(
        _ device: VirtualDevice,
        to written: [String: [String]],
        _ testing: ManagementTesting,
    ) async throws {
        guard !written.isEmpty else { return }
        let wanted = try channels(written, of: device)
        _ = try await Problem.ofChannels { () async throws(Rejection) in
            try await testing.devices.subscribe(device.key.device, to: wanted)
        }
    }

    func changeDevice(
        _ name: String,
        _ change: ManagementMessages.ChangedDevice,
    ) async throws -> ManagementMessages.Device {
        let testing = try testing("A virtual device")
        let id = try deviceID(name)
        let behaviour = try change.behaviour.map { written throws(Problem) in
            try DeviceBehaviour(written, at: "/behaviour")
        }
        let power = change.power.flatMap(DevicePower.init)
        guard behaviour != nil || power != nil || change.channels != nil else {
            throw Problem.invalid("", "The keys behaviour, power and channels are missing; give at least one of them.")
        }
        let device = try await testing.devices.inTurn {
            if let channels = change.channels {
                guard let present = testing.devices[id] else { return VirtualDevice?.none }
                let wanted = try Self.channels(channels, of: present)
                // Without a behaviour or power, the device stays as it is.
                let subscribed = try await Problem.ofChannels { () async throws(Rejection) in
                    try await testing.devices.subscribe(id, to: wanted)
                }
                if behaviour == nil, power == nil { return subscribed }
            }
            // Change the power before the behaviour connects the device. Otherwise a device that is to have low power
            // could get notifications that have to be held back.
            let changed = power.flatMap { testing.devices.change(id, to: $0) }
            guard let behaviour else { return changed }
            return try await testing.devices.change(id, to: behaviour)
        }
        guard let device else { throw Problem.notFound("There is no virtual device \(id).") }
        return try await message(device, testing)
    }

    /// Reads the channels of a device's apps.
    private static func channels(
        _ written: [String: [String]],
        of device: VirtualDevice,
    ) throws(Problem) -> [AppID: Set<ChannelID>] {
        var wanted: [AppID: Set<ChannelID>] = [:]
        for (name, ids) in written {
            guard let app = device.apps.first(where: { $0.app.bundleID.rawValue == name }) else {
                throw Problem.invalid("/channels", "The device has no app \(name.debugDescription).")
            }
            var channels: Set<ChannelID> = []
            for (index, id) in ids.enumerated() {
                guard let channel = ChannelID(rawValue: id) else {
                    throw Problem.invalid(
                        "/channels/\(name)/\(index)",
                        "\(id.debugDescription) has to be \(TextFormat.channelID.name).")
                }
                channels.insert(channel)
            }
            wanted[app.app.id] = channels
        }
        return wanted
    }

    func message(_ device: VirtualDevice, _ testing: ManagementTesting) async throws -> ManagementMessages.Device {
        let stored = Set(try await testing.mailboxes.entries(of: device.key).map(\.entry.destination.app))
        return try await message(device, waiting: { stored.contains($0) ? 1 : 0 })
    }

    /// - Parameter waiting: returns how many notifications wait for an app.
    func message(_ device: VirtualDevice, waiting: (AppID) -> Int) async throws -> ManagementMessages.Device {
        ManagementMessages.Device(
            deviceID: device.key.device.description,
            name: device.name,
            environment: device.key.environment.rawValue,
            virtual: true,
            connected: device.behaviour.isConnected,
            since: device.since.milliseconds,
            power: device.behaviour.isConnected ? device.power.rawValue : nil,
            behaviour: ManagementMessages.Behaviour(device.behaviour),
            apps: device.apps.map { app in
                ManagementMessages.DeviceApp(
                    bundleID: app.app.bundleID.rawValue, token: app.token,
                    waiting: waiting(app.app.id))
            },
            channels: try await channels(of: device.key),
            subscriptions: device.subscriptions.map(ManagementMessages.DeviceSubscription.init),
        )
    }

    /// Removes a virtual device.
    /// - Returns: how many registrations ended; nil if there is no virtual device with this ID.
    func removeVirtualDevice(_ id: DeviceID) async throws -> Int? {
        guard let devices = parts.testing?.devices, devices[id] != nil else { return nil }
        return try await devices.inTurn { await devices.remove(id) }
    }
}

// Sends notifications for the management API, without a provider.
extension ManagementAPI {
    func send(_ notification: ManagementMessages.NewNotification) async throws -> ManagementMessages.NotificationSent {
        sent(try await testing("Sending without a provider").send(notification))
    }

    func send(broadcast: ManagementMessages.NewBroadcast) async throws -> ManagementMessages.NotificationSent {
        sent(try await testing("Sending without a provider").broadcast(broadcast))
    }

    private func sent(_ result: (id: NotificationID, outcome: Outcome)) -> ManagementMessages.NotificationSent {
        let (id, outcome) = result
        var message = ManagementMessages.NotificationSent(status: 200, apnsID: id.textAsSent.span.text)
        guard case .rejected(let rejection) = outcome else { return message }
        describe(rejection, in: &message)
        return message
    }

    /// Says which answer a provider would get, and sends nothing.
    func check(_ notification: ManagementMessages.NewNotification) async throws -> ManagementMessages.NotificationSent {
        try checked(try await testing("Sending without a provider").check(notification))
    }

    /// Says which answer a provider's broadcast would get, and sends nothing.
    func check(broadcast: ManagementMessages.NewBroadcast) async throws -> ManagementMessages.NotificationSent {
        try checked(try await testing("Sending without a provider").checkBroadcast(broadcast))
    }

    private func checked(_ check: ManagementTesting.Check?) throws(Problem) -> ManagementMessages.NotificationSent {
        guard let check else { throw Problem(503, "The service is starting.") }
        var message = ManagementMessages.NotificationSent(status: 200)
        message.bytes = check.bytes
        message.maximumBytes = check.maximumBytes
        message.strict = check.strictRejection.map {
            ManagementMessages.StrictRefusal(
                status: $0.reason.status, reason: $0.reason.rawValue, detail: $0.detail)
        }
        guard let rejection = check.rejection else { return message }
        describe(rejection, in: &message)
        return message
    }

    private func describe(_ rejection: Rejection, in message: inout ManagementMessages.NotificationSent) {
        message.status = rejection.reason.status
        message.reason = rejection.reason.rawValue
        message.timestamp = rejection.timestamp
        message.detail = rejection.detail
    }
}
