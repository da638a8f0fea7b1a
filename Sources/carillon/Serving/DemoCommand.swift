import APNSDevice
import APNSProvider
import ArgumentParser
import CommandSupport
import Foundation
import Logging
import NIOPosix
import Notifications
import Service
import Trust
import UnixSignals

struct DemoCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "demo",
        abstract: "Run service, device, app and provider in one process, send a notification and show it arriving.",
        discussion: "It uses a temporary folder, which it removes, unless --data names one.",
    )

    @OptionGroup var common: CommonOptions

    @Option(help: "The text to send.")
    var alert = "Hello from Carillon"

    /// How long to wait for the notification before the demonstration fails.
    private static let patience = Duration.seconds(10)

    func run() async throws {
        let scratch = FileManager.default.temporaryDirectory.appendingPathComponent(
            "carillon-\(UUID().uuidString.prefix(8))")
        // The folder is temporary, so a failure does not matter.
        defer { try? FileManager.default.removeItem(at: scratch) }
        var settings = Settings()
        settings.dataFolder = common.data ?? scratch.path
        settings.ports = .ephemeral
        settings.environments = [.development]
        var logger = Logger(label: "carillon") { StreamLogHandler.standardError(label: $0) }
        logger.logLevel = .warning
        let service = try await CarillonService.start(settings, logger: logger)
        let serving = Task { await service.run() }
        let result = await self.result(service.description, common.output)
        serving.cancel()
        await serving.value
        try result.get()
    }

    /// Runs the demonstration until it ends or a signal comes. In both cases the scratch folder, which holds keys, is
    /// removed.
    private func result(_ description: ServiceDescription, _ output: Output) async -> Result<Void, any Error> {
        let signals = await UnixSignalsSequence(trapping: .sigterm, .sigint)
        return await withTaskGroup(of: Result<Void, any Error>.self) { group in
            group.addTask {
                do {
                    return .success(try await demonstrate(description, output))
                } catch {
                    return .failure(error)
                }
            }
            group.addTask {
                for await _ in signals { break }
                return .failure(CommandError("Interrupted."))
            }
            defer { group.cancelAll() }
            return await group.next() ?? .success(())
        }
    }

    private func demonstrate(_ description: ServiceDescription, _ output: Output) async throws {
        guard let addresses = description.development, let key = description.key, let bundleID = key.bundleID else {
            throw CommandError("The service did not make its development team.")
        }
        output.print(
            ["event": "service"], "service   ready: providers \(addresses.provider), devices \(addresses.courier)")
        let courier = try HostAndPort(addresses.courier)
        let address = CourierAddress(host: courier.host, port: courier.port, authorityFile: description.ca)
        let identity = try await DeviceIdentity.activate(at: address, environment: .development)
        output.print(["event": "device"], "device    activated: \(identity.deviceID)")
        let (arrivals, arrived) = AsyncStream.makeStream(of: DemoApp.Arrival.self)
        let device = try Device(identity, at: address, delegate: DemoApp(arrived: arrived))
        let token = try await device.register(bundleID)
        output.print(["event": "app"], "app       \(bundleID) registered: \(token)")
        let listening = Task { try await device.run() }

        let sender = try ProviderClient(
            credentials: ProviderCredentials(keyFile: key.path, keyID: key.keyID, teamID: key.teamID),
            environment: .custom(url: "https://\(addresses.provider)", authority: .file(description.ca)))
        guard let deviceToken = APNSProvider.DeviceToken(token) else {
            throw CommandError("The service gave out an invalid device token: \(token).")
        }
        let greeting = try PushNotification(topic: bundleID, APS(alert: APS.Alert(body: alert)))
        try await sender.connect()
        let started = ContinuousClock.now
        let receipt = try await sender.send(greeting, to: deviceToken)
        output.print(["event": "provider"], "provider  sent, answered 200: \(receipt.apnsID)")
        let arrival = try await first(of: arrivals)
        try show(arrival.notification, after: arrival.moment - started, output)
        await device.close()
        try await listening.value
        await sender.shutDown()
    }

    private func show(_ notification: ReceivedNotification, after time: Duration, _ output: Output) throws {
        let payload: Arrived = try JSONValue.decode(notification.payload)
        let milliseconds = Double(time.components.attoseconds) / 1e15 + Double(time.components.seconds) * 1000
        let rounded = String(format: "%.1f", milliseconds)
        output.print(
            [
                "event": "notification", "id": notification.id, "topic": notification.topic, "alert": payload.aps.alert,
            ],
            "app       notification arrived after \(rounded) ms: \(payload.aps.alert)")
    }

    private func first(of arrivals: AsyncStream<DemoApp.Arrival>) async throws -> DemoApp.Arrival {
        try await withThrowingTaskGroup(of: DemoApp.Arrival?.self) { group in
            group.addTask { await arrivals.first { _ in true } }
            group.addTask {
                try await Task.sleep(for: Self.patience)
                throw CommandError("Nothing arrived within \(Self.patience).")
            }
            defer { group.cancelAll() }
            guard let first = try await group.next(), let arrival = first else { throw CancellationError() }
            return arrival
        }
    }

    private struct Arrived: Decodable {
        struct APS: Decodable { let alert: String }
        let aps: APS
    }
}

/// The demonstration's app. It prints what arrived, and when.
private struct DemoApp: DeviceDelegate {
    struct Arrival: Sendable {
        let notification: ReceivedNotification
        let moment: ContinuousClock.Instant
    }

    let arrived: AsyncStream<Arrival>.Continuation

    func received(_ notification: ReceivedNotification) async {
        arrived.yield(Arrival(notification: notification, moment: .now))
    }
}
