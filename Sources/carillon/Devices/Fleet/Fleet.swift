import APNSDevice
import CommandSupport
import Foundation
import NIOPosix
import Notifications

/// Many devices in one process, each with its own identity and TLS connection.
actor Fleet {
    /// How many devices connect at the same time. This keeps both sides busy, without a handshake that exceeds the
    /// courier's time limit.
    private static let handshakes = 64
    /// How often a device tries to connect at the start.
    private static let attempts = 5
    /// How many identifiers each device remembers. Repeated notifications come soon after the first, so few are
    /// enough, and 10,000 devices have to fit into memory.
    private static let remembered = 64

    private let roster: FleetRoster
    private let courier: CourierAddress
    private let bundleID: String
    private let channels: [String]
    /// Whether the device tokens are needed.
    private let keepsTokens: Bool
    private let output: Output
    private let totals = FleetTotals()
    private var configuration = Device.Configuration()
    private var behaviour: FleetBehaviour
    private var devices: [Device?]
    private var offline: Set<Int>

    init(
        _ roster: FleetRoster,
        at courier: CourierAddress,
        bundleID: String,
        channels: [String] = [],
        behaviour: FleetBehaviour,
        power: Device.Power?,
        keepsTokens: Bool,
        output: Output,
    ) throws {
        self.roster = roster
        self.keepsTokens = keepsTokens
        self.courier = courier
        self.bundleID = bundleID
        self.channels = channels
        self.output = output
        self.behaviour = behaviour
        devices = Array(repeating: nil, count: roster.count)
        tokens = keepsTokens ? Array(repeating: "", count: roster.count) : []
        offline = self.behaviour.offline(of: roster.count)
        configuration.power = power
        configuration.tls = try CourierTLS(courier)
        configuration.observer = totals
        configuration.keepsIdentity = false
        configuration.connectTimeout = .seconds(60)
        configuration.shared = SharedConfiguration(configuration)
    }

    /// The device tokens in the order of the identities; empty unless they are kept.
    private(set) var tokens: [String]

    // MARK: Connecting

    /// Registers the app on every device, and connects the devices that are not offline.
    func connect(isQuiet: Bool) async throws {
        let progress = ProgressBar(isQuiet: isQuiet)
        defer { progress.end() }
        try await withThrowingTaskGroup(of: (Int, Device?, String).self) { group in
            var (begun, done) = (0, 0)
            while done < devices.count {
                while begun < devices.count, begun - done < Self.handshakes {
                    let index = begun
                    let staysOffline = offline.contains(index)
                    group.addTask { [self] in
                        let (device, token) = try await connect(index, staysOffline: staysOffline)
                        return (index, device, token)
                    }
                    begun += 1
                }
                guard let (index, device, token) = try await group.next() else { break }
                keep(device, token, at: index)
                done += 1
                progress.show("Connecting", done, of: devices.count)
            }
        }
    }

    private func keep(_ device: Device?, _ token: String, at index: Int) {
        devices[index] = device
        if keepsTokens { tokens[index] = token }
    }

    nonisolated private func connect(_ index: Int, staysOffline: Bool) async throws -> (Device?, String) {
        let identity = try roster.identity(index)
        let (totals, behaviour, configuration) = await (self.totals, self.behaviour, self.configuration)
        var last = DeviceError(.notConnected, "The device did not connect.")
        for _ in 0..<Self.attempts {
            let began = ContinuousClock.now
            let app = FleetDevice(totals: totals, acknowledgementDelay: behaviour.acknowledgementDelay)
            var configuration = configuration
            configuration.received = MemoryIdentifiers(capacity: Self.remembered)
            let device = try Device(identity, at: courier, delegate: app, configuration: configuration)
            do {
                let token = try await device.register(bundleID)
                for channel in channels { try await device.subscribe(bundleID, to: channel) }
                if staysOffline {
                    await device.close()
                    return (nil, token)
                }
                guard let error = await app.connect(device) else {
                    totals.connected(after: .now - began)
                    return (device, token)
                }
                last = error
            } catch {
                last = error
            }
            await device.close()
            guard last.isTemporary else { throw last }
            try await Task.sleep(for: .milliseconds(200))
        }
        throw last
    }

    /// Prints that all devices are connected.
    func announce() {
        let count = totals.counts.connected
        output.print(Connected(count: count), "\(count) devices connected, \(offline.count) offline")
    }

    private struct Connected: Encodable {
        let event = "connected"
        let count: Int
    }

    // MARK: Living

    /// Prints the totals at intervals until cancelled.
    func reportTotals(every interval: Duration) async throws {
        while true {
            try await Task.sleep(for: interval)
            let line = totals.line(isLast: false)
            output.print(line, line.text)
        }
    }

    /// Makes devices lose their connection, and connects others, until cancelled.
    func misbehave() async throws {
        while true {
            guard let pause = behaviour.pause() else {
                // Without such behaviour there is nothing to do until the end.
                try await Task.sleep(for: .seconds(86_400))
                continue
            }
            try await Task.sleep(for: pause)
            await reconnectOne()
        }
    }

    /// Disconnects one device. Then connects one that was offline, or the same one if none was.
    private func reconnectOne() async {
        let online = devices.indices.filter { devices[$0] != nil }
        guard let leaving = behaviour.choose(of: online.count).map({ online[$0] }) else { return }
        let away = offline.sorted()
        let coming = behaviour.choose(of: away.count).map { away[$0] } ?? leaving
        let device = devices[leaving]
        devices[leaving] = nil
        await device?.close()
        if coming != leaving {
            offline.insert(leaving)
            offline.remove(coming)
        }
        // The device counts its failed connection itself.
        guard let (device, token) = try? await connect(coming, staysOffline: false) else { return }
        totals.count { $0.reconnects += 1 }
        keep(device, token, at: coming)
    }

    /// Completes what has arrived, closes the connections, and prints the last totals.
    func end() async {
        let devices = devices.compactMap(\.self)
        let connected = totals.counts.connected
        await withTaskGroup(of: Void.self) { group in
            for device in devices { group.addTask { await device.close() } }
        }
        // Closing a device waits until its last acknowledgements are sent.
        let line = totals.line(isLast: true, connected: connected)
        output.print(line, line.text)
    }
}
