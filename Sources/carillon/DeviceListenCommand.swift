import APNSDevice
import ArgumentParser
import Foundation
import Logging
import Notifications
import ServiceLifecycle
import UnixSignals

struct DeviceListenCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "listen",
        abstract: "Stay connected as a device, and print what arrives.",
        discussion: "Each notification is acknowledged once it is printed.",
    )

    @OptionGroup var common: CommonOptions
    @OptionGroup var device: DeviceOptions

    @Option(name: .customLong("bundle-id"), help: "An app to register first; repeatable.")
    var bundleID: [String] = []

    func run() async throws {
        let listener = DeviceListener(common: common, device: device, bundleIDs: bundleID)
        var logger = Logger(label: "carillon") { StreamLogHandler.standardError(label: $0) }
        logger.logLevel = .error
        try await ServiceGroup(
            configuration: ServiceGroupConfiguration(
                services: [
                    .init(
                        service: listener, successTerminationBehavior: .gracefullyShutdownGroup,
                        failureTerminationBehavior: .gracefullyShutdownGroup)
                ],
                gracefulShutdownSignals: [.sigterm, .sigint],
                logger: logger,
            )
        ).run()
    }
}

/// Keeps a device connected, prints its notifications and acknowledges them.
struct DeviceListener: Service {
    let common: CommonOptions
    let device: DeviceOptions
    let bundleIDs: [String]

    /// How long printed notifications may wait to be acknowledged together. The contract allows 500 ms.
    private static let acknowledgementDelay = Duration.milliseconds(50)
    /// Reconnecting takes ever longer, up to this, so that a service that is down is not beleaguered.
    private static let longestDelay = 30.0
    private static let shortestDelay = 0.5

    func run() async throws {
        let output = Output(isJSON: common.json)
        let client = try await device.connect(common)
        for bundleID in bundleIDs {
            let token = try await client.register(bundleID)
            output.print(
                Registered(bundleID: bundleID, token: token), "Registered \(bundleID), device token \(token)")
        }
        do {
            try await cancelWhenGracefulShutdown { try await listen(from: client, output) }
        } catch is CancellationError {
            // Asked to end, which is how this command ends well.
        }
    }

    /// Listens on one connection after the other, until it is cancelled or the courier wants no more of this device.
    private func listen(from first: DeviceClient, _ output: Output) async throws {
        var client = first
        var seen = RecentIdentifiers()
        var delay = Self.shortestDelay
        while true {
            do {
                try await listen(client, output, &seen)
                delay = Self.shortestDelay
                Output.note("Disconnected.")
            } catch let error as DeviceError where error.code != .takenOver && error.code != .refused {
                Output.note("Disconnected: \(error)")
            }
            await client.close()
            client = try await reconnect(&delay)
        }
    }

    /// Tries to connect, at ever longer intervals, until it works or it is cancelled.
    private func reconnect(_ delay: inout Double) async throws -> DeviceClient {
        while true {
            try await Task.sleep(for: .seconds(delay * Double.random(in: 0.5...1)))
            delay = min(delay * 2, Self.longestDelay)
            do {
                return try await device.connect(common)
            } catch {
                Output.note("Not connected: \(error)")
            }
        }
    }

    /// Prints and acknowledges until the stream ends; what was printed is acknowledged before this returns.
    private func listen(
        _ client: DeviceClient,
        _ output: Output,
        _ seen: inout RecentIdentifiers,
    ) async throws {
        let lines = try await client.notifications()
        let acknowledgements = Acknowledgements(client)
        do {
            try await withThrowingTaskGroup { group in
                group.addTask { try await acknowledgements.run(every: Self.acknowledgementDelay) }
                for try await notification in lines {
                    if seen.insert(notification.id) { show(notification, output) }
                    await acknowledgements.add(notification.sending)
                }
                group.cancelAll()
            }
        } catch {
            await Task { try? await acknowledgements.flush() }.value  // What fails is sent again, as after a crash.
            throw error
        }
        await Task { try? await acknowledgements.flush() }.value  // Likewise.
    }

    private func show(_ notification: ReceivedNotification, _ output: Output) {
        let payload = String(decoding: notification.payload, as: UTF8.self)
        let topic = JSONString.quoted(notification.topic)
        output.printRaw(
            #"{"event":"notification","id":\#(JSONString.quoted(notification.id)),"topic":\#(topic),"#
                + #""priority":\#(notification.priority),"payload":\#(payload)}"#,
            "\(notification.topic)  \(payload)",
        )
    }

    private struct Registered: Encodable {
        let event = "registered"
        let bundleID: String
        let token: String
    }
}

/// Gathers acknowledgements, so that a burst of notifications costs a few requests.
private actor Acknowledgements {
    private let client: DeviceClient
    private var sendings: [UInt64] = []

    /// How many go into one request: the body stays far below what the courier takes.
    private static let batch = 1000

    init(_ client: DeviceClient) { self.client = client }

    func add(_ sending: UInt64) { sendings.append(sending) }

    func run(every interval: Duration) async throws {
        while !Task.isCancelled {
            try await Task.sleep(for: interval)
            try await flush()
        }
    }

    func flush() async throws {
        while !sendings.isEmpty {
            let batch = Array(sendings.prefix(Self.batch))
            sendings.removeFirst(batch.count)
            try await client.acknowledge(batch)
        }
    }
}
