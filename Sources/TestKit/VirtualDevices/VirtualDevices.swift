package import Delivery
package import Notifications
import Storage
import Synchronization
package import Trust

/// The devices that run in the service, for tests. The service treats them as it treats other devices: their
/// notifications are stored, coalesced, ordered and expired by the same rules.
///
/// To create, change or remove one, use ``inTurn(_:)``, which runs one operation after the other.
package final class VirtualDevices: Sendable {
    struct Entry {
        var device: VirtualDevice
        var stream: VirtualStream?
        /// Whether all of its apps are registered in the store. Those of a device that was made of its token are not at
        /// first.
        var isFullyRegistered = true
        /// Whether any of its apps is.
        var isInStore = true
    }

    let registrations: any Registrations
    let switchboard: any Switchboard
    let broadcasts: Broadcasts
    let tokenKeys: SharedTokenKeys
    let clock: ServiceClock
    /// Whether tests need a device token for each service, because an app's own serves none.
    private let tokensByService: Bool
    let remember: @Sendable (DeviceID) throws -> Void
    package let names: NamedTokens
    let entries = Mutex<[DeviceKey: Entry]>([:])
    let seen: Mutex<SeenTokens>
    private let expired = Mutex<Set<Destination>>([])
    let acknowledgements = VirtualAcknowledgements()
    /// Nil until the service has Web Push.
    let webPush = Mutex<EndpointMaking?>(nil)
    private let turns = Turns()

    /// - Parameters:
    ///   - tokensByService: whether devices show the device tokens of all services.
    ///   - seenLimit: how many devices are made of device tokens at their first use.
    ///   - remember: notes a device that is about to be in the store, for a store that outlives the process.
    package init(
        registrations: any Registrations,
        switchboard: any Switchboard,
        broadcasts: Broadcasts,
        tokenKeys: SharedTokenKeys,
        names: NamedTokens,
        clock: ServiceClock,
        tokensByService: Bool = false,
        seenLimit: Int = VirtualDeviceLimits.maximumSeen,
        remember: @escaping @Sendable (DeviceID) throws -> Void = { _ in },
    ) {
        self.registrations = registrations
        self.switchboard = switchboard
        self.broadcasts = broadcasts
        self.tokenKeys = tokenKeys
        self.names = names
        self.clock = clock
        self.tokensByService = tokensByService
        self.remember = remember
        seen = Mutex(SeenTokens(limit: seenLimit))
    }

    /// Sets what makes endpoints, so that apps on the devices can have subscriptions of Web Push.
    package func use(_ making: EndpointMaking) { webPush.withLock { $0 = making } }

    /// Lets the devices acknowledge until the task is cancelled.
    package func run() async {
        await acknowledgements.run(switchboard, broadcasts) { [self] device in
            entries.withLock { entries in
                if let entry = entries[device], entry.stream != nil { attach(&entries, device) }
            }
        }
    }

    /// Runs an operation after all earlier ones, because an operation that is all or nothing must not overlap with
    /// another.
    package func inTurn<Result: Sendable>(
        _ operation: @escaping @Sendable () async throws -> Result
    ) async throws -> Result {
        try await turns.run(operation)
    }

    /// The next devices in the order of their IDs.
    package func devices(after device: DeviceID?, limit: Int) -> [VirtualDevice] {
        entries.withLock { entries in
            var page = FirstInOrder<DeviceID>(limit)
            for key in entries.keys where device.map({ $0 < key.device }) ?? true { page.insert(key.device) }
            return page.elements.compactMap {
                entries[DeviceKey(environment: .development, device: $0)]?.device
            }
        }
    }

    package var all: [VirtualDevice] { entries.withLock { $0.values.map(\.device) } }
    /// The number of devices that tests made.
    package var count: Int { entries.withLock { $0.values.count { $0.device.firstSeen == nil } } }

    package subscript(_ device: DeviceID) -> VirtualDevice? {
        entries.withLock { $0[DeviceKey(environment: .development, device: device)]?.device }
    }

    /// Whether a device token counts as expired.
    package func isExpired(_ destination: Destination) -> Bool { expired.withLock { $0.contains(destination) } }
}

// MARK: - Changes

extension VirtualDevices {
    /// Makes a device. If something fails, nothing of the device remains.
    /// - Throws: ``StoreError`` if the store cannot take it now, or a named token is taken.
    package func create(
        name: String?,
        team: TeamID,
        apps: [VirtualApp],
        behaviour: DeviceBehaviour,
        power: DevicePower = .charging,
        subscriptions: [WantedSubscription] = [],
    ) async throws -> VirtualDevice {
        var random = SystemRandomNumberGenerator()
        let key = DeviceKey(environment: .development, device: DeviceID(rawValue: random.next()))
        var device = VirtualDevice(
            key: key, name: name, team: team, behaviour: behaviour, power: power, since: clock.time, apps: apps)
        do {
            try remember(key.device)
            for index in apps.indices { try await register(&device.apps[index], of: key) }
            for wanted in subscriptions { device.subscriptions.append(try await subscribe(wanted, of: key)) }
            let made = device
            entries.withLock { $0[key] = Entry(device: made) }
            return try await apply(behaviour, to: made) ?? made
        } catch {
            entries.withLock { $0[key] = Entry(device: device) }
            await remove(key.device)
            throw error
        }
    }

    private func register(_ app: inout VirtualApp, of key: DeviceKey) async throws {
        let destination = Destination(environment: key.environment, device: key.device, app: app.app.id)
        let registration = try await registrations.register(
            destination, tokenKeyID: tokenKeys.current.current.rawValue, at: clock.time)
        for service in TopicKind.allCases where service == .app || tokensByService || app.named[service] != nil {
            let contents = DeviceTokenContents(
                device: key.device, app: app.app.id, generation: registration.generation, service: service)
            let sealed = try await tokenKeys.seal(
                contents, environment: key.environment, key: TokenKeyID(rawValue: registration.tokenKeyID))
            if let named = app.named[service] {
                if let seen = device(of: named) { await remove(seen) }
                guard names.add(named, NamedTokens.Meaning(contents: contents, sealed: sealed)) else {
                    let topic = app.app.bundleID.topic(service)
                    throw StoreError(
                        .exists, "Another device has the token \(Hexadecimal.string(named)) for \(topic).")
                }
            }
            app.sealed[service] = sealed
        }
    }

    /// Removes the names of an app's tokens that this device has. A name that was taken belongs to another device.
    private func removeNames(of app: VirtualApp) {
        for (service, named) in app.named where app.sealed[service] != nil {
            names.remove(named, app: app.app.id, service: service)
        }
    }

    /// Gives a device another behaviour.
    /// - Returns: the device; nil if there is none.
    package func change(_ id: DeviceID, to behaviour: DeviceBehaviour) async throws -> VirtualDevice? {
        try await registerIfMade(id)
        guard let device = self[id] else { return nil }
        // Only an active registration can end. One that is to stay may have been ended by its token's renewal.
        if !device.behaviour.hasApps || behaviour.hasApps {
            for destination in device.destinations { try await register(destination, at: clock.time) }
            try await subscribeAgain(id)
        }
        return try await apply(behaviour, to: device)
    }

    /// Gives a device whose apps are registered a behaviour.
    /// - Returns: the device; nil if it was removed meanwhile.
    private func apply(_ behaviour: DeviceBehaviour, to device: VirtualDevice) async throws -> VirtualDevice? {
        let (key, now) = (device.key, clock.time)
        // The device is disconnected before the change or connected after it, so nothing is delivered in between.
        if !behaviour.isConnected { detach(key) }
        for destination in device.destinations {
            switch behaviour {
            case .removed(let since):
                // It ends at the time that the behaviour names.
                _ = try await registrations.end(
                    destination, at: since.map { clock.serviceTime(ofClient: Timestamp(milliseconds: $0)) } ?? now)
            case .expired:
                _ = expired.withLock { $0.insert(destination) }
                _ = try await registrations.end(destination, at: now)
                continue
            case .online, .slow, .offline, .silent:
                break
            }
            _ = expired.withLock { $0.remove(destination) }
        }
        let changed = entries.withLock { entries -> VirtualDevice? in
            guard entries[key] != nil else { return nil }
            entries[key]?.device.behaviour = behaviour
            entries[key]?.device.since = now
            if behaviour.isConnected { attach(&entries, key) }
            return entries[key]?.device
        }
        // A test may broadcast as soon as the device is connected.
        await broadcasts.subscriptionsApplied(to: key)
        return changed
    }

    /// Lets a device report another power state.
    /// - Returns: the device; nil if there is none.
    package func change(_ id: DeviceID, to power: DevicePower) -> VirtualDevice? {
        let key = DeviceKey(environment: .development, device: id)
        let device = entries.withLock { entries in
            entries[key]?.device.power = power
            return entries[key]?.device
        }
        if let device, device.behaviour.isConnected { switchboard.changePower(of: key, to: power) }
        return device
    }

    /// Subscribes apps on a device to channels, in place of those to which they were subscribed.
    /// - Returns: the device; nil if there is none.
    package func subscribe(
        _ id: DeviceID,
        to channels: [AppID: Set<ChannelID>],
    ) async throws(Rejection) -> VirtualDevice? {
        do throws(StoreError) {
            try await registerIfMade(id)
        } catch {
            throw Rejection(error)
        }
        guard let device = self[id] else { return nil }
        for destination in device.destinations {
            guard let wanted = channels[destination.app] else { continue }
            try await broadcasts.replaceSubscriptions(of: destination, by: wanted)
        }
        return device
    }

    private func register(_ destination: Destination, at moment: Timestamp) async throws(StoreError) {
        _ = try await registrations.register(
            destination, tokenKeyID: tokenKeys.current.current.rawValue, at: moment)
    }

    /// Removes a device and its registrations. Harmless if it does not exist.
    /// - Returns: how many of its registrations were active.
    @discardableResult
    package func remove(_ id: DeviceID) async -> Int {
        let key = DeviceKey(environment: .development, device: id)
        // First, so that nobody finds a token without its device.
        if let token = self[id]?.firstSeen { seen.withLock { $0.remove(token, of: id) } }
        detach(key)
        guard let entry = entries.withLock({ $0.removeValue(forKey: key) }) else { return 0 }
        guard entry.isInStore else { return entry.device.behaviour.hasApps ? entry.device.apps.count : 0 }
        for app in entry.device.apps {
            let destination = Destination(environment: key.environment, device: id, app: app.app.id)
            removeNames(of: app)
            _ = expired.withLock { $0.remove(destination) }
            // If a registration cannot be ended now, nobody uses it: the device does not come back.
            _ = try? await registrations.end(destination, at: clock.time)
        }
        return entry.device.behaviour.hasApps ? entry.device.apps.count : 0
    }

    /// Removes the devices of a team that was deleted.
    package func removeAll(of team: TeamID) async {
        for device in all where device.team == team { await remove(device.key.device) }
    }

    /// Removes a deleted app from all virtual devices.
    package func removeApp(_ app: AppID) {
        entries.withLock { entries in
            for key in entries.keys {
                for gone in entries[key]?.device.apps.filter({ $0.app.id == app }) ?? [] {
                    removeNames(of: gone)
                }
                entries[key]?.device.apps.removeAll { $0.app.id == app }
                entries[key]?.device.subscriptions.removeAll { $0.wanted.app.id == app }
            }
        }
        seen.withLock { $0.remove(app) }
        expired.withLock { expired in expired = expired.filter { $0.app != app } }
    }

    private func attach(_ entries: inout [DeviceKey: Entry], _ key: DeviceKey) {
        guard let device = entries[key]?.device else { return }
        let stream = VirtualStream(key, device.behaviour, acknowledgements)
        entries[key]?.stream = stream
        // In the order in which the courier does it.
        broadcasts.attach(stream, of: key)
        switchboard.attach(stream, of: key, power: device.power)
    }

    private func detach(_ key: DeviceKey) {
        let stream = entries.withLock { entries in
            defer { entries[key]?.stream = nil }
            return entries[key]?.stream
        }
        guard let stream else { return }
        switchboard.detach(stream, of: key)
        broadcasts.detach(stream, of: key)
    }
}

/// Runs operations one after the other, in the order of the calls.
private actor Turns {
    private var last: Task<Void, Never>?

    func run<Result: Sendable>(
        _ operation: @escaping @Sendable () async throws -> Result
    ) async throws -> Result {
        let before = last
        // Runs in a separate task, so that a started operation is completed even if its client disconnects.
        let task = Task {
            await before?.value
            return try await operation()
        }
        last = Task { _ = await task.result }
        return try await task.value
    }
}
