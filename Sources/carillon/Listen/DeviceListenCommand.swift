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
        discussion: """
            Each notification is acknowledged once it is printed. On a terminal, keys open and dismiss the newest one \
            and choose its actions.
            """,
    )

    @OptionGroup var common: CommonOptions
    @OptionGroup var device: DeviceOptions

    @Option(name: .customLong("bundle-id"), help: "An app to register first; repeatable.")
    var bundleID: [String] = []

    @Option(help: "A folder with de.lproj/Localizable.strings and so on, for notifications with loc-key.")
    var strings: String?

    @Option(help: "A language of the user's, the preferred one first; repeatable.")
    var language: [String] = []

    @Option(help: "A JSON file with categories: [{\"id\":…,\"actions\":[{\"id\":…,\"title\":…,\"opensApp\":…}]}].")
    var categories: String?

    func run() async throws {
        let listener = DeviceListener(
            common: common, options: device, bundleIDs: bundleID, languages: language.isEmpty ? ["en"] : language,
            strings: try strings.map { try Localizations(folder: $0) } ?? Localizations(),
            categories: try readCategories())
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

    private func readCategories() throws -> [NotificationCategory] {
        guard let categories else { return [] }
        guard let data = FileManager.default.contents(atPath: categories) else {
            throw CommandError("The categories \(categories) cannot be read.")
        }
        do {
            return try JSONDecoder().decode([NotificationCategory].self, from: data)
        } catch {
            throw CommandError("\(categories) does not hold categories: \(error)")
        }
    }
}
