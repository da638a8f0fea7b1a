import Delivery
import HTTPAPI
import HTTPTypes
import Hummingbird
import Notifications
import Trust
import VirtualDevices

// Lists all devices, from the store, the switchboard, the virtual devices and the other nodes of a cluster.
extension ManagementAPI {
    /// Lists the devices that have an app, are connected, or are virtual.
    func listDevices(_ call: ManagementCall) async throws -> Response {
        let limit = call.limit
        var after = try call.query("after").map { try deviceID($0) }
        var messages: [ManagementMessages.Device] = []
        var cluster = ClusterDevices(parts.otherDevices)
        // Collect one device more than the page has, to find out whether there is another page. If devices are left
        // out, such as revoked ones, read on until the page is full: clients take a page that is not full for the
        // last.
        while messages.count <= limit {
            let seen = try await complete(try await devices(after: after, limit: limit + 1), &cluster)
            for device in seen.prefix(limit + 1) {
                guard messages.count <= limit, let message = try await message(device) else { continue }
                messages.append(message)
            }
            guard seen.count > limit, let last = seen.last?.key.device else { break }
            after = last
        }
        return ListPage.answer(messages, name: \.deviceID, call).naming(unanswered: cluster.unanswered)
    }

    /// One device, in the form of the list.
    func showDevice(_ name: String) async throws -> Response {
        let id = try deviceID(name)
        var cluster = ClusterDevices(parts.otherDevices)
        // Read the page that begins after the preceding ID, and has one device.
        let before = id.rawValue == 0 ? nil : DeviceID(rawValue: id.rawValue - 1)  // fits: not 0
        var found = try await devices(after: before, limit: 1).filter { $0.key.device == id }
        // If a device has no app, only the node that it is connected to knows it.
        if found.isEmpty, cluster.hasOthers {
            found = Environment.allCases.map { Seen(key: DeviceKey(environment: $0, device: id)) }
        }
        for seen in try await complete(found, &cluster) {
            guard let message = try await message(seen) else { continue }
            return .json(message).naming(unanswered: cluster.unanswered)
        }
        let silent = cluster.unanswered.sorted().joined(separator: ", ")
        throw Problem.notFound(
            "There is no device \(id)." + (silent.isEmpty ? "" : " These nodes did not answer: \(silent)."))
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

    /// Adds what the other nodes of a cluster know about devices that are not connected to this one.
    private func complete(_ seen: [Seen], _ cluster: inout ClusterDevices) async throws -> [Seen] {
        guard cluster.hasOthers else { return seen }
        let elsewhere = try await cluster.connected(
            among: seen.filter { $0.connected == nil && $0.virtual == nil }.map(\.key))
        guard !elsewhere.isEmpty else { return seen }
        return seen.map { one in
            var one = one
            one.connected = one.connected ?? elsewhere[one.key]
            return one
        }
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
        let entry = parts.seen.entry(of: seen.key)
        return ManagementMessages.Device(
            deviceID: seen.key.device.description,
            environment: seen.key.environment.rawValue,
            virtual: false,
            connected: seen.connected != nil,
            since: seen.connected?.since.milliseconds,
            power: seen.connected?.power.rawValue,
            software: entry?.software,
            lastSeen: seen.connected == nil ? entry?.lastSeen.milliseconds : nil,
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

    /// How many notifications wait for an app: those in its mailbox, and those that the service holds back while
    /// the device's power is low. The newest of the latter is usually in the mailbox too, and is counted once. If the
    /// mailbox keeps more, all of them are there.
    private func waiting(_ app: AppID, _ seen: Seen) -> Int {
        let listed = seen.stored?.apps.first { $0.app == app }
        let stored = listed?.stored
        if let kept = listed?.kept, kept > 0 {
            return max(kept + (stored == nil ? 0 : 1), seen.connected?.held[app]?.count ?? 0)
        }
        guard let held = seen.connected?.held[app] else { return stored == nil ? 0 : 1 }
        return held.count + (stored == nil || stored == held.stored ? 0 : 1)
    }
}

extension Response {
    /// This answer with the nodes of a cluster whose part of it is missing, because they did not answer.
    fileprivate func naming(unanswered nodes: Set<String>) -> Response {
        guard !nodes.isEmpty else { return self }
        var response = self
        response.headers[.unanswered] = nodes.sorted().joined(separator: ", ")
        return response
    }
}
