import APNSDevice
import Foundation
import Notifications
import ServiceLifecycle

/// Keeps a device connected, shows its notifications and acknowledges them.
struct DeviceListener: Service {
    let common: CommonOptions
    let options: DeviceOptions
    let bundleIDs: [String]
    let languages: [String]
    let strings: Localizations
    let categories: [NotificationCategory]

    func run() async throws {
        if common.json { try await print() } else { try await show() }
    }

    // MARK: For programs

    private func print() async throws {
        let output = Output(isJSON: true)
        let device = try options.device(common, delegate: PrintingApp(output: output, identityPath: options.identity))
        try await register(on: device, output)
        try await listen(device)
    }

    // MARK: For people

    private func show() async throws {
        let (events, event) = AsyncStream.makeStream(of: DeviceSystem.Event.self)
        let path = options.identity
        let system = DeviceSystem(
            languages: languages, report: { event.yield($0) }, keep: { try $0.write(to: path) })
        let output = Output(isJSON: false)
        let screen = ListenScreen(system, output: output, strings: strings, categories: categories)
        let device = try options.device(common, delegate: ScreenDelegate(system: system, screen: screen))
        await system.use(device)
        try await register(on: device, output)
        for bundleID in bundleIDs { await screen.install(bundleID) }
        let settings = Terminal.isInteractive ? Terminal.readSingleKeys() : nil
        defer { Terminal.restore(settings) }
        if settings != nil { ListenScreen.write("Keys: [o]pen and [d]ismiss the newest, [c]entre, [q]uit.") }
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { await screen.show(events) }
            if settings != nil {
                group.addTask {
                    await screen.obey(Terminal.keys)
                    await device.close()
                }
            }
            defer {
                event.finish()
                group.cancelAll()
            }
            try await listen(device)
        }
    }

    // MARK: Both

    private func register(on device: Device, _ output: Output) async throws {
        for bundleID in bundleIDs {
            let token = try await device.register(bundleID)
            output.print(
                Registered(bundleID: bundleID, token: token), "Registered \(bundleID), device token \(token)")
        }
    }

    private func listen(_ device: Device) async throws {
        try await withGracefulShutdownHandler {
            try await device.run()
        } onGracefulShutdown: {
            // What was shown is acknowledged, and then `run` ends.
            Task { await device.close() }
        }
    }

    private struct Registered: Encodable {
        let event = "registered"
        let bundleID: String
        let token: String
    }
}
