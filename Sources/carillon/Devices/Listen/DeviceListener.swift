import CommandSupport
import DeviceAgent
import APNSDevice
import Foundation
import Notifications
import ServiceLifecycle

/// Keeps a device connected, passes on what arrives, and acknowledges it.
struct DeviceListener: Service {
    let common: CommonOptions
    let options: DeviceOptions
    let setup: ListenSetup
    /// Whether to print, for programs, what the apps get, instead of the lines of the stream.
    let isAsApp: Bool
    /// The program, with its arguments, to run for each notification; empty if there is none.
    let command: [String]
    /// Decrypts Web Push messages.
    let reader: MessageReader

    func run() async throws {
        if common.json && !isAsApp || !command.isEmpty { try await print() } else { try await behaveAsPhone() }
    }

    // MARK: What the stream has

    private func print() async throws {
        let output = Output(isJSON: common.json)
        let printing = PrintingApp(output: output, identityPath: options.identity, reader: reader)
        let delegate: any DeviceDelegate =
            command.isEmpty ? printing : ExecutingApp(printing: printing, command: command)
        let device = try options.device(common, delegate: delegate)
        for bundleID in setup.bundleIDs {
            func report(_ service: PushService?, _ token: String, activity: UUID? = nil) {
                var line = EventLine.registered(bundleID, service, token)
                line.add("activity", activity?.uuidString.lowercased())
                let name = service.map { "\(bundleID) for \($0.rawValue)" } ?? bundleID
                output.printRaw(line.text, "Registered \(name), device token \(token)")
            }
            report(nil, try await device.register(bundleID))
            for service in setup.services { report(service, try await device.register(bundleID, for: service)) }
            if setup.beginsActivity {
                let activity = UUID()
                report(.liveActivity, try await device.register(bundleID, activity: activity), activity: activity)
            }
            for channel in setup.channels { try await device.subscribe(bundleID, to: channel) }
        }
        try await listen(device)
    }

    // MARK: What the apps and the user have

    private func behaveAsPhone() async throws {
        let settings = !common.json && Terminal.isInteractive ? Terminal.readSingleKeys() : nil
        defer { Terminal.restore(settings) }
        let output: any ListenOutput =
            common.json ? ListenEvents(reader: reader) : ListenScreen(takesKeys: settings != nil)
        let path = options.identity
        let system = DeviceSystem(
            languages: setup.languages, report: { output.handle(.system($0)) }, keep: { try $0.write(to: path) })
        let user = DeviceUser(system, setup, output: output)
        let device = try options.device(common, delegate: ScreenDelegate(system: system, user: user))
        await system.use(device)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { await output.run() }
            defer {
                output.finish()
                group.cancelAll()
            }
            try await putApps(on: device, user, output)
            if settings != nil || common.json && Terminal.hasScript {
                if settings != nil { for line in ListenKey.help { Output.printDiagnostic(line) } }
                group.addTask {
                    let isOver = await user.obey(Terminal.keys, opensOnReturn: settings != nil)
                    // When a script of keys ends, the device keeps its state.
                    if isOver || settings != nil { await device.close() }
                }
            }
            try await listen(device)
        }
    }

    /// Puts the apps on the device, and registers those that are launched. An app that was never launched has no
    /// device token yet.
    private func putApps(on device: Device, _ user: DeviceUser, _ output: any ListenOutput) async throws {
        for (index, bundleID) in setup.bundleIDs.enumerated() {
            guard setup.state != .neverLaunched else {
                await user.put(bundleID, .neverLaunched)
                continue
            }
            let token = try await device.register(bundleID)
            for channel in setup.channels { try await device.subscribe(bundleID, to: channel) }
            output.handle(.registered(bundleID: bundleID, deviceToken: token))
            for service in setup.services {
                let token = try await device.register(bundleID, for: service)
                output.handle(.registered(bundleID: bundleID, service, deviceToken: token))
            }
            // Only one app is in the foreground at a time.
            let state = setup.state == .foreground && index > 0 ? .background : setup.state
            await user.put(bundleID, state, deviceToken: token)
            if setup.beginsActivity { await user.beginActivity(of: bundleID) }
        }
    }

    // MARK: Both

    private func listen(_ device: Device) async throws {
        try await withGracefulShutdownHandler {
            try await device.run()
        } onGracefulShutdown: {
            // Closing acknowledges the printed notifications. Then `run` ends.
            Task { await device.close() }
        }
    }
}
