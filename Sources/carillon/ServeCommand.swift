import ArgumentParser
import Configuration
import Foundation
import Logging
import Notifications
import Service
import ServiceLifecycle
import UnixSignals

struct ServeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "serve",
        abstract: "Run the service.",
        discussion: "Every option can also be set in the environment (CARILLON_HOST, …) or in a JSON file.",
    )

    @OptionGroup var common: CommonOptions

    @Option(help: "The address to listen on (127.0.0.1).")
    var host: String?

    @Option(help: "One more name for the server's certificate; repeatable.")
    var hostname: [String] = []

    @Option(help: "development or production; repeatable, both by default.")
    var environment: [Environment] = []

    @Option(help: "How to treat what the documents do not allow: apple (as Apple's service does) or strict.")
    var conformance: Conformance?

    @Option(help: "system, or virtual, which tests can advance.")
    var clock: ClockChoice?

    @Option(help: "standard, ephemeral or apple.")
    var ports: PortPlan?

    @Option(
        help: ArgumentHelp(
            "Where the data is kept: sqlite, in the data folder; memory, which is lost when the service ends; or the URL of "
                + "a PostgreSQL database, without a password.", valueName: "store"))
    var store: String?

    @Option(
        name: .customLong("store-key-file"),
        help: ArgumentHelp(
            "The file with the key of a PostgreSQL store: 64 hexadecimal digits.", valueName: "file"))
    var storeKeyFile: String?

    @Option(
        help: ArgumentHelp(
            "How many requests of providers to keep for tests (0; 10000 with --store memory).", valueName: "count"))
    var journal: Int?

    @Option(help: "Where the management API listens: ADDRESS:PORT, or off (127.0.0.1:2198).")
    var management: String?

    @Option(
        name: .customLong("management-tls"),
        help: "Where the management API listens with TLS, for administrators' certificates: ADDRESS:PORT.")
    var managementTLS: String?

    @Option(
        name: .customLong("node-name"),
        help: ArgumentHelp(
            "The name of this node among those that use a PostgreSQL store (the machine's name).", valueName: "name"))
    var nodeName: String?

    @Option(
        help: ArgumentHelp(
            "Where this node listens for other nodes: ADDRESS:PORT (nowhere).", valueName: "address"))
    var peer: String?

    @Option(
        name: .customLong("peer-address"),
        help: ArgumentHelp(
            "Where other nodes reach this one: ADDRESS:PORT (that of --peer).", valueName: "address"))
    var peerAddress: String?

    @Option(
        name: .customLong("proxy-protocol"),
        help: ArgumentHelp(
            "The address of a load balancer that begins connections with a PROXY header, or a range of addresses; "
                + "repeatable.", valueName: "cidr"))
    var proxyProtocol: [String] = []

    @Option(help: "Where to put the management API's socket, if the data folder's path is too long for it.")
    var socket: String?

    @Option(name: .customLong("log-format"), help: "The lines of the log on standard error: text or json.")
    var logFormat: LogFormat?

    @Option(
        name: .customLong("log-level"),
        help:
            "What is less important is not logged: trace, debug, info (the default), notice, warning, error or critical.",
        transform: { try choice($0) })
    var logLevel: Logger.Level?

    @Flag(
        name: .customLong("accept-damaged-log"),
        help: "Start although accepted notifications are lost in a damaged write-ahead log, which is kept aside.")
    var acceptDamagedLog = false

    @Option(help: "A JSON file with settings (or CARILLON_CONFIG).")
    var config: String?

    func run() async throws {
        OpenFiles.raise()
        let settings = try await settings()
        let environment = ProcessInfo.processInfo.environment
        LoggingSystem.bootstrap { [format = settings.logFormat] in format.handler(label: $0, environment: environment) }
        var logger = Logger(label: "carillon")
        logger.logLevel = settings.logLevel
        let authority = settings.folder.authorityFile
        let isFirstStart = !FileManager.default.fileExists(atPath: authority)
        let service = try await CarillonService.start(settings, logger: logger)
        let ready = logger
        let announced = Announced(service: service, systemd: SystemdNotifier(environment: environment)) {
            // Do not print the text for people if systemd's journal or a program collects the output.
            if common.json || settings.logFormat.isForPeople(environment: environment) {
                announce(service, isFirstStart: isFirstStart)
            }
            // Log this for programs that wait for it in a container's log.
            ready.info("The service is ready")
        }
        try await ServiceGroup(
            configuration: ServiceGroupConfiguration(
                services: [.init(service: announced)],
                gracefulShutdownSignals: [.sigterm, .sigint] + (Self.ignoresHangup ? [] : [.sighup]),
                logger: quiet(logger),
            )
        ).run()
    }

    /// Whether the service was started by `nohup`: it stays when its terminal is closed. Otherwise it ends then, and
    /// removes its temporary folder.
    private static var ignoresHangup: Bool {
        var action = sigaction()
        guard sigaction(SIGHUP, nil, &action) == 0 else { return false }
        #if canImport(Darwin)
            let handler = action.__sigaction_u.__sa_handler
        #else
            let handler = action.__sigaction_handler.sa_handler
        #endif
        return unsafeBitCast(handler, to: Int.self) == unsafeBitCast(SIG_IGN, to: Int.self)
    }

    /// Shows only warnings and errors of the life cycle's own messages.
    private func quiet(_ logger: Logger) -> Logger {
        var logger = logger
        logger.logLevel = max(.warning, logger.logLevel)
        return logger
    }

    private func settings() async throws -> Settings {
        var settings = Settings()
        let environment = ProcessInfo.processInfo.environment
        var providers: [any ConfigProvider] = [EnvironmentVariablesProvider()]
        let file = try (config ?? environment["CARILLON_CONFIG"]).map(SettingsFile.init)
        if let file { providers.append(try await file.provider()) }
        let use = SettingsUse()
        try settings.read(ConfigReader(providers: providers, accessReporter: use))
        try use.check(environment: environment, file: file?.contents)
        settings.dataFolder = common.data ?? settings.dataFolder
        settings.host = host ?? settings.host
        settings.hostnames += hostname
        if let peer { try settings.setPeer(peer) }
        if let peerAddress { try settings.setPeerAddress(peerAddress) }
        if let nodeName { try settings.setNodeName(nodeName) }
        if !proxyProtocol.isEmpty { try settings.setProxies(proxyProtocol) }
        settings.environments = self.environment.isEmpty ? settings.environments : self.environment
        settings.conformance = conformance ?? settings.conformance
        settings.ports = ports ?? settings.ports
        settings.acceptsDamagedLog = acceptDamagedLog
        settings.clock = clock ?? settings.clock
        settings.logFormat = logFormat ?? settings.logFormat
        settings.logLevel = logLevel ?? settings.logLevel
        settings.socketPath = socket ?? settings.socketPath
        if let journal { try settings.setJournal(journal) }
        if let store { try settings.setStore(store, isArgument: true) }
        settings.storeKeyFile = storeKeyFile ?? settings.storeKeyFile
        if let management { try settings.setManagement(management) }
        if let managementTLS { try settings.setManagementTLS(managementTLS) }
        return settings
    }

    private func announce(_ service: CarillonService, isFirstStart: Bool) {
        let description = service.description
        Output(isJSON: common.json).print(
            Ready(
                development: description.development, production: description.production, ca: description.ca,
                caPEM: authorityPEM(description), management: description.management),
            Welcome(description, folder: service.folder, isFirstStart: isFirstStart).text,
        )
    }

    private struct Ready: Encodable {
        let event = "ready"
        let development: ServiceDescription.Addresses?
        let production: ServiceDescription.Addresses?
        let ca: String
        /// The root certificate in PEM.
        let caPEM: String?
        let management: ServiceDescription.Management?
    }

    private func authorityPEM(_ description: ServiceDescription) -> String? {
        FileManager.default.contents(atPath: description.ca).map { String(decoding: $0, as: UTF8.self) }
    }
}

/// Reports readiness, but not before signals can end the service cleanly: a program that waits for the report may
/// send a signal at once.
private struct Announced: ServiceLifecycle.Service {
    let service: CarillonService
    let systemd: SystemdNotifier
    let announce: @Sendable () -> Void

    func run() async {
        announce()
        systemd.ready()
        let watching = Task { await systemd.watch { await service.visitEventLoops() } }
        await withGracefulShutdownHandler {
            await service.run()
        } onGracefulShutdown: {
            // Cancel this while the event loops still run, and do not wait for its end: an event loop that has ended
            // may never answer.
            watching.cancel()
            systemd.stopping()
        }
    }
}

extension PortPlan: ExpressibleByArgument {}
extension ClockChoice: ExpressibleByArgument {}
extension LogFormat: ExpressibleByArgument {}
