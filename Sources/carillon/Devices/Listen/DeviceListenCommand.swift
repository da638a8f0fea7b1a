import APNSDevice
import ArgumentParser
import CommandSupport
import Foundation
import Logging
import Notifications
import Service
import ServiceLifecycle
import UnixSignals

struct DeviceListenCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "listen",
        abstract: "Stay connected as a device, and print what arrives.",
        discussion: """
            Each notification is acknowledged once it is printed. On a terminal, keys do what a user does: open and \
            dismiss the newest one, choose its actions, put an app into the foreground, end it, remove it. With --json \
            each line has the notification as the stream has it. With --json --as-app the lines have what apps are \
            told and the user sees; keys are then read from standard input if that is not a terminal.
            """,
    )

    @OptionGroup var common: CommonOptions
    @OptionGroup var device: DeviceOptions

    @Option(name: .customLong("bundle-id"), help: "An app to register first; repeatable.")
    var bundleID: [String] = []

    @Option(
        help: ArgumentHelp(
            "A broadcast channel to subscribe the app to; repeatable. It takes one --bundle-id.", valueName: "id"))
    var channel: [String] = []

    @Option(
        help: ArgumentHelp(
            """
            A service of the apps whose device token to print as well; repeatable: \
            \(choices(PushService.withTokens)).
            """, valueName: "service"),
        transform: { try choice($0, among: PushService.withTokens) })
    var service: [PushService] = []

    @Flag(help: "Begin a Live Activity of each app, and print the device token for its updates.")
    var activity = false

    @Option(
        help: "The power that the device reports on each connection: low, awake or charging. It is kept.",
        transform: { try choice($0) })
    var power: Device.Power?

    @Flag(
        name: .customLong("as-app"),
        help: "With --json: what the apps are told and the user sees, one event on each line.")
    var asApp = false

    @Option(
        help: "The state that the apps begin in: background (the default), foreground, force-quit or never-launched.",
        transform: { try choice($0) })
    var state = AppState.background

    @Option(
        help: "The user's setting for the apps' alerts: banner (the default), alert or off.",
        transform: { try choice($0) })
    var alerts = AppSettings.AlertStyle.banner

    @Flag(name: .customLong("no-sounds"), help: "The user has switched the apps' sounds off.")
    var noSounds = false

    @Flag(name: .customLong("no-badges"), help: "The user has switched the apps' badges off.")
    var noBadges = false

    @Option(help: "A folder with the apps' sound files: the default sound is played for any other name.")
    var sounds: String?

    @Option(help: "A folder with de.lproj/Localizable.strings and so on, for notifications with loc-key.")
    var strings: String?

    @Option(help: "A language of the user's, the preferred one first; repeatable.")
    var language: [String] = []

    @Option(help: "A JSON file with categories: [{\"id\":…, \"actions\":[{\"id\":…, \"title\":…, \"opensApp\":…}]}].")
    var categories: String?

    @Option(
        help: ArgumentHelp(
            """
            A file of keys that device subscribe made: with --json, Web Push messages for it have their text as well; repeatable.
            """, valueName: "keyfile"))
    var decrypt: [String] = []

    @Flag(
        help: """
            Run the program after -- for each notification, with the payload on its standard input and the rest in \
            CARILLON_NOTIFICATION_… variables. The notification is acknowledged when the program ends with 0.
            """)
    var exec = false

    @Argument(
        parsing: .postTerminator,
        help: ArgumentHelp("With --exec: the program and its arguments. No shell reads them.", valueName: "program"))
    var program: [String] = []

    func validate() throws {
        guard exec != program.isEmpty else {
            throw ValidationError("--exec takes a program after two hyphens: --exec -- PROGRAM ARGUMENT…")
        }
        guard !exec || !asApp else { throw ValidationError("--exec and --as-app do not go together.") }
        guard channel.isEmpty || bundleID.count == 1 else {
            throw ValidationError("--channel subscribes one app: name it with one --bundle-id.")
        }
        guard common.json || decrypt.isEmpty else { throw ValidationError("--decrypt needs --json.") }
        guard common.json || !asApp else {
            throw ValidationError("--as-app needs --json; without --json the command shows what a user sees.")
        }
    }

    func run() async throws {
        if let power { try PowerFile(identity: device.identity).write(power) }
        let setup = ListenSetup(
            bundleIDs: bundleID, channels: channel, services: service,
            beginsActivity: activity, languages: language.isEmpty ? ["en"] : language,
            strings: try strings.map { try Localizations(folder: $0) } ?? Localizations(),
            sounds: try sounds.map { try Self.fileNames(inFolder: $0) }, categories: try readCategories(),
            settings: AppSettings(alerts: alerts, sounds: !noSounds, badges: !noBadges), state: state)
        let listener = DeviceListener(
            common: common, options: device, setup: setup, isAsApp: asApp, command: program,
            reader: MessageReader(keys: try decrypt.map { try SubscriptionKeyFile.keys($0) }))
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

    private static func fileNames(inFolder folder: String) throws -> Set<String> {
        do {
            return Set(try FileManager.default.contentsOfDirectory(atPath: folder))
        } catch {
            throw CommandError("The folder of sounds \(folder) cannot be read: \(DataFolder.reason(error)).")
        }
    }

    private func readCategories() throws -> [NotificationCategory] {
        guard let categories else { return [] }
        let data = try InputFile.read(categories, "file of categories")
        do {
            return try JSONValue(document: Array(data), maximumDepth: Payload.maximumDepth).decoded()
        } catch {
            throw CommandError("\(categories) does not contain categories; docs/device-listen.md shows some.")
        }
    }
}
