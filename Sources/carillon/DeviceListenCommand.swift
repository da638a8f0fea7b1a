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
        let listener = DeviceListener(common: common, options: device, bundleIDs: bundleID)
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
