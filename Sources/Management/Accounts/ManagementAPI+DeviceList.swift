import Delivery
import Hummingbird
import Notifications
import Trust
import VirtualDevices

// Lists all devices, from the store, the switchboard and the virtual devices.
extension ManagementAPI {
    /// Lists the devices that have an app, are connected, or are virtual.
    func listDevices(_ call: ManagementCall) async throws -> Response {
        let limit = call.query("limit").flatMap(Int.init) ?? ManagementLimits.listItems
        var after = try call.query("after").map { try deviceID($0) }
        var messages: [ManagementMessages.Device] = []
        // Collect one device more than the page has, to find out whether there is another page. If devices are left
        // out, such as revoked ones, read on until the page is full: clients take a page that is not full for the
        // last.
        while messages.count <= limit {
            let seen = try await devices(after: after, limit: limit + 1)
            for device in seen.prefix(limit + 1) {
                guard messages.count <= limit, let message = try await message(device) else { continue }
                messages.append(message)
            }
            guard seen.count > limit, let last = seen.last?.key.device else { break }
            after = last
        }
        return try ListPage.answer(messages, of: limit, name: \.deviceID, call)
    }

    /// One device, in the form of the list.
    func device(_ name: String) async throws -> ManagementMessages.Device {
        let id = try deviceID(name)
        // Read the page that begins after the preceding ID, and has one device.
        let before = id.rawValue == 0 ? nil : DeviceID(rawValue: id.rawValue - 1)
        guard let seen = try await devices(after: before, limit: 1).first, seen.key.device == id,
            let message = try await message(seen)
        else { throw Problem.notFound("There is no device \(id).") }
        return message
    }

    /// What the store, the switchboard and the virtual devices know of one device.
    private struct Seen {
        let key: DeviceKey
        var stored: ListedDevice?
        var connected: ConnectedDevice?
        var virtual: VirtualDevice?
    }

    /// The next devices of all environments, in the order of their IDs. Each source returns as many as the page may
    /// need, so everything about these devices is included.
    private func devices(after device: DeviceID?, limit: Int) async throws -> [Seen] {
        var seen: [DeviceKey: Seen] = [:]
        for environment in Environment.allCases {
            for listed in try await parts.registrations.devices(in: environment, after: device, limit: limit) {
                seen[listed.key, default: Seen(key: listed.key)].stored = listed
            }
            for connected in try await parts.switchboard.connected(in: environment, after: device, limit: limit) {
                seen[connected.key, default: Seen(key: connected.key)].connected = connected
            }
        }
        for virtual in parts.testing?.devices.devices(after: device, limit: limit) ?? [] {
            seen[virtual.key, default: Seen(key: virtual.key)].virtual = virtual
        }
        // IDs are random, so two devices never have the same ID, even in different environments.
        return Array(seen.values.sorted { $0.key.device < $1.key.device }.prefix(limit))
    }

    /// - Returns: nil if the device is not listed, because it was revoked, or has no app and is not connected.
    private func message(_ seen: Seen) async throws -> ManagementMessages.Device? {
        let accounts = accounts.current
        if let virtual = seen.virtual { return try await message(virtual, waiting: { waiting($0, seen) }) }
        guard accounts.revokedDevices[seen.key] == nil else { return nil }
        var apps: [ManagementMessages.DeviceApp] = []
        for listed in seen.stored?.apps ?? [] where listed.registration.isActive {
            guard let app = accounts.app(listed.app) else { continue }
            let contents = DeviceTokenContents(
                device: seen.key.device, app: listed.app, generation: listed.registration.generation)
            let token = try await parts.tokenKeys.seal(
                contents, environment: seen.key.environment, key: TokenKeyID(rawValue: listed.registration.tokenKeyID))
            apps.append(
                ManagementMessages.DeviceApp(
                    bundleID: app.bundleID.rawValue, token: token.description, waiting: waiting(listed.app, seen)))
        }
        guard seen.connected != nil || !apps.isEmpty else { return nil }
        return ManagementMessages.Device(
            deviceID: seen.key.device.description,
            environment: seen.key.environment.rawValue,
            virtual: false,
            connected: seen.connected != nil,
            since: seen.connected?.since.milliseconds,
            power: seen.connected?.power.rawValue,
            apps: apps.sorted { $0.bundleID < $1.bundleID },
            channels: try await channels(of: seen.key))
    }

    /// The identifiers of the channels to which a device's apps are subscribed, by bundle ID.
    func channels(of device: DeviceKey) async throws -> [String: [String]] {
        let accounts = accounts.current
        var channels: [String: [String]] = [:]
        for subscribed in try await parts.broadcasts.subscriptions(of: device) {
            let key = subscribed.channel.key
            guard let app = accounts.app(key.list.app) else { continue }
            channels[app.bundleID.rawValue, default: []].append(key.id.rawValue)
        }
        return channels.mapValues { $0.sorted() }
    }

    /// How many notifications wait for an app: the one in its mailbox, and those that the service holds back while
    /// the device's power is low. The newest of the latter is usually in the mailbox too, and is counted once.
    private func waiting(_ app: AppID, _ seen: Seen) -> Int {
        let stored = seen.stored?.apps.first { $0.app == app }?.stored
        guard let held = seen.connected?.held[app] else { return stored == nil ? 0 : 1 }
        return held.count + (stored == nil || stored == held.stored ? 0 : 1)
    }
}
