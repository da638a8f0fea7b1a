import APNSDevice
import ArgumentParser
import CommandSupport
import Foundation
import Notifications
import Service
import UnixSignals

struct DeviceFleetCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "fleet",
        abstract: "Simulate many devices in one process, each with its own identity and connection.",
        discussion: """
            The identities are made once and kept in the data folder. Only one fleet may run on a data folder in \
            each environment, because a second one would be the same devices. The fleet runs until SIGTERM or SIGINT, \
            or for --duration. At intervals it prints how many notifications came, and latencies. The latency of a \
            delivery is known if the payload has a number "sent" beside "aps", in milliseconds since 1970.
            """,
    )

    @OptionGroup var common: CommonOptions

    @Option(help: "How many devices, 1 to 100,000.")
    var count: Int

    @Option(name: .customLong("bundle-id"), help: "The app on each of them.")
    var bundleID: String

    @Option(
        help: ArgumentHelp("A broadcast channel that each of them is subscribed to; repeatable.", valueName: "id"))
    var channel: [String] = []

    @Option(help: "development or production.")
    var environment = Environment.development

    @Option(help: "The share of devices that are offline, 0 to 1.")
    var offline = 0.0

    @Option(name: .customLong("reconnects-per-minute"), help: "How many devices lose their connection in a minute.")
    var reconnectsPerMinute = 0.0

    @Option(
        name: .customLong("acknowledgement-delay"), help: "Milliseconds that each app needs for a notification.")
    var acknowledgementDelay = 0

    @Option(
        help: "The power that each device reports on each connection: low, awake or charging.",
        transform: { try choice($0) })
    var power: Device.Power?

    @Option(help: "The seed of all random choices: the same seed makes the same choices.")
    var seed: UInt64 = 1

    @Option(help: "Seconds from one line of totals to the next.")
    var interval = 10.0

    @Option(help: "End after this many seconds; by default the fleet runs until a signal.")
    var duration: Double?

    @Option(help: "A file for the device tokens, one on each line.")
    var tokens: String?

    func validate() throws {
        guard (1...100_000).contains(count) else { throw ValidationError("--count is from 1 to 100,000.") }
        guard (0...1).contains(offline) else { throw ValidationError("--offline is a share, from 0 to 1.") }
        guard reconnectsPerMinute >= 0, reconnectsPerMinute <= 1_000_000 else {
            throw ValidationError("--reconnects-per-minute is from 0 to 1,000,000.")
        }
        guard (0...600_000).contains(acknowledgementDelay) else {
            throw ValidationError("--acknowledgement-delay is from 0 to 600,000 milliseconds.")
        }
        guard interval >= 0.1, interval <= 86_400 else { throw ValidationError("--interval is from 0.1 to 86,400.") }
        guard duration.map({ $0 >= 0 && $0 <= 1e9 }) ?? true else {
            throw ValidationError("--duration is not negative.")
        }
    }

    func run() async throws {
        OpenFiles.raise()
        let courier = try common.runningService().courier(environment)
        let roster = try await FleetIdentities(folder: common.folder, environment: environment)
            .load(count, at: courier, isQuiet: common.json)
        let behaviour = FleetBehaviour(
            offlineShare: offline, reconnectsPerMinute: reconnectsPerMinute,
            acknowledgementDelay: .milliseconds(acknowledgementDelay), seed: seed)
        let fleet = try Fleet(
            roster, at: courier, bundleID: bundleID, channels: channel, behaviour: behaviour, power: power,
            keepsTokens: tokens != nil,
            output: common.output)
        let signals = await UnixSignalsSequence(trapping: .sigterm, .sigint)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await live(fleet) }
            group.addTask { for await _ in signals { break } }
            defer { group.cancelAll() }
            try await group.next()
        }
        await fleet.end()
    }

    private func live(_ fleet: Fleet) async throws {
        try await fleet.connect(isQuiet: common.json)
        if let tokens {
            try DataFolder.write(await fleet.tokens.joined(separator: "\n") + "\n", to: DataFolder(tokens).path)
        }
        await fleet.announce()
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await fleet.reportTotals(every: .seconds(interval)) }
            group.addTask { try await fleet.misbehave() }
            if let duration { group.addTask { try await Task.sleep(for: .seconds(duration)) } }
            defer { group.cancelAll() }
            // Wait for the first task that ends: the one that sleeps for the duration, or one that fails. The others
            // run until they are cancelled.
            try await group.next()
        }
    }
}
