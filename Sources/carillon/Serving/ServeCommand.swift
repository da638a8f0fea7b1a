import APNSProvider
import ArgumentParser
import CommandSupport
import Configuration
import Foundation
import Logging
import Notifications
import Service
import Supervision

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

    @Option(
        help: ArgumentHelp(
            "known, or any: for tests, unknown teams, keys, topics and device tokens are made at first sight, in the "
                + "development environment.", valueName: "choice"))
    var accept: AcceptChoice?

    @Option(
        name: .customLong("accept-any-from"),
        help: ArgumentHelp(
            "An address besides this machine's, or a range of addresses, from which --accept any accepts what is unknown; "
                + "repeatable.", valueName: "cidr"))
    var acceptAnyFrom: [String] = []

    @Option(help: "system, or virtual, which tests can advance.")
    var clock: ClockChoice?

    @Option(help: "standard, ephemeral or apple.")
    var ports: PortPlan?

    @Option(
        name: .customLong("provider-port"),
        help: ArgumentHelp("The port for providers, or ENVIRONMENT=PORT; repeatable.", valueName: "port"))
    var providerPort: [String] = []

    @Option(
        name: .customLong("binary-port"),
        help: ArgumentHelp("The port of the binary API, or ENVIRONMENT=PORT; repeatable.", valueName: "port"))
    var binaryPort: [String] = []

    @Option(
        name: .customLong("feedback-port"),
        help: ArgumentHelp("The port of the feedback service, or ENVIRONMENT=PORT; repeatable.", valueName: "port"))
    var feedbackPort: [String] = []

    @Option(
        name: .customLong("courier-port"),
        help: ArgumentHelp("The port for devices, or ENVIRONMENT=PORT; repeatable.", valueName: "port"))
    var courierPort: [String] = []

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
            "How many requests of providers to keep for tests (0; 10000 with --store memory or --accept any).",
            valueName: "count"))
    var journal: Int?

    @Option(help: "Where the management API listens: ADDRESS:PORT, or off (127.0.0.1:2198).")
    var management: String?

    @Option(
        name: .customLong("management-key-file"),
        help: ArgumentHelp(
            "The file with the key of the management API (management.key in the data folder).", valueName: "file"))
    var managementKeyFile: String?

    @Option(
        name: .customLong("management-tls"),
        help: "Where the management API listens with TLS, for administrators' certificates: ADDRESS:PORT.")
    var managementTLS: String?

    @Option(
        name: .customLong("web-push"),
        help: ArgumentHelp("Where Web Push listens with TLS: ADDRESS:PORT (nowhere).", valueName: "address"))
    var webPush: String?

    @Option(
        name: .customLong("web-push-plain"),
        help: ArgumentHelp(
            "Where Web Push listens without TLS, for a proxy on this machine or of --proxy-protocol: ADDRESS:PORT (nowhere).",
            valueName: "address"))
    var webPushPlain: String?

    @Option(
        name: .customLong("web-push-url"),
        help: ArgumentHelp(
            "What endpoints of Web Push begin with, as in https://push.example.com (where Web Push listens).",
            valueName: "url"))
    var webPushURL: String?

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

    @OptionGroup var log: LogOptions

    @Flag(
        name: .customLong("accept-damaged-log"),
        help: "Start although accepted notifications are lost in a damaged write-ahead log, which is kept aside.")
    var acceptDamagedLog = false

    @Flag(
        name: .customLong("until-input-ends"),
        help:
            "End when standard input ends, as at SIGTERM. A program that holds the other end of a pipe need not end it."
    )
    var untilInputEnds = false

    @Option(help: "A JSON file with settings (or CARILLON_CONFIG).")
    var config: String?

    func run() async throws { try await run { _ in } }

    /// - Parameter prepare: changes the settings before the configured values are read.
    func run(_ prepare: (inout Settings) throws -> Void) async throws {
        OpenFiles.raise()
        let settings = try await settings(prepare)
        let environment = ProcessInfo.processInfo.environment
        // An upstream may be set at any time. Without this, a mistake would cost a 503 for each notification then.
        _ = try ProxyRules(variables: environment)
        let supervisor = Supervisor(settings.logFormat, environment: environment)
        var logger = Logger(label: "carillon")
        logger.logLevel = settings.logLevel
        let authority = settings.folder.authorityFile
        let isFirstStart = !FileManager.default.fileExists(atPath: authority)
        if settings.hasEmptyManagementKey, settings.managementKeyFile == nil {
            logger.warning(
                "The setting management-key is empty, so it counts as none",
                metadata: [
                    "advice":
                        "set CARILLON_MANAGEMENT_KEY to a key, or take the one that the service has made: management.key"
                ])
        }
        for setting in settings.ignored {
            logger.warning(
                "This version no longer has a setting, and ignores it; the next one will refuse it",
                metadata: ["setting": "\(setting)", "advice": "remove it; docs/settings.md lists all settings"])
        }
        let service = try await CarillonService.start(settings, logger: logger)
        try await supervisor.run(logger) { [logger] in
            supervisor.ready { await service.visitEventLoops() }
            if common.json || supervisor.isForPeople { announce(service, settings, isFirstStart: isFirstStart) }
            // Log this for programs that wait for it in a container's log.
            logger.info("The service is ready")
            if untilInputEnds { InputEnd.watch() }
            await service.run()
        }
    }

    private func settings(_ prepare: (inout Settings) throws -> Void) async throws -> Settings {
        var settings = Settings()
        try prepare(&settings)
        let environment = ProcessInfo.processInfo.environment
        var providers: [any ConfigProvider] = [EnvironmentVariablesProvider()]
        let file = try (config ?? environment["CARILLON_CONFIG"]).map(SettingsFile.init)
        if let file { providers.append(try await file.provider()) }
        let use = SettingsUse()
        try settings.read(ConfigReader(providers: providers, accessReporter: use))
        try use.check(environment: environment, file: file?.members)
        settings.dataFolder = common.data ?? settings.dataFolder
        settings.host = host ?? settings.host
        settings.hostnames += hostname
        if let peer { try settings.setPeer(peer) }
        if let peerAddress { try settings.setPeerAddress(peerAddress) }
        if let nodeName { try settings.setNodeName(nodeName) }
        if !proxyProtocol.isEmpty { try settings.setProxies(proxyProtocol) }
        settings.environments = self.environment.isEmpty ? settings.environments : self.environment
        settings.conformance = conformance ?? settings.conformance
        settings.accept = accept ?? settings.accept
        if !acceptAnyFrom.isEmpty { try settings.setAcceptAnyFrom(acceptAnyFrom) }
        settings.ports = ports ?? settings.ports
        try settings.setPorts(of: .provider, providerPort)
        try settings.setPorts(of: .binary, binaryPort)
        try settings.setPorts(of: .feedback, feedbackPort)
        try settings.setPorts(of: .courier, courierPort)
        settings.acceptsDamagedLog = acceptDamagedLog
        settings.clock = clock ?? settings.clock
        settings.logFormat = log.logFormat ?? settings.logFormat
        settings.logLevel = log.logLevel ?? settings.logLevel
        settings.socketPath = socket ?? settings.socketPath
        if let journal { try settings.setJournal(journal) }
        if let store { try settings.setStore(store, isArgument: true) }
        settings.storeKeyFile = storeKeyFile ?? settings.storeKeyFile
        if let management { try settings.setManagement(management) }
        if let managementTLS { try settings.setManagementTLS(managementTLS) }
        if let webPush { try settings.setWebPush(webPush) }
        if let webPushPlain { try settings.setWebPushPlain(webPushPlain) }
        if let webPushURL { try settings.setWebPushURL(webPushURL) }
        if let managementKeyFile { settings.setManagementKeyFile(managementKeyFile) }
        try settings.checkManagementKey(isForCommands: environment["CARILLON_MANAGEMENT_URL"] != nil)
        settings.useLimitsForTests()
        return settings
    }

    private func announce(_ service: CarillonService, _ settings: Settings, isFirstStart: Bool) {
        let description = service.description
        common.output.print(
            Ready(
                development: description.development, production: description.production, ca: description.ca,
                caPEM: authorityPEM(description), management: description.management, accept: description.accept),
            Welcome(
                description, folder: service.folder, isFirstStart: isFirstStart, gateways: settings.instance?.gateways
            ).text,
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
        /// `any` if the service accepts what it does not know; otherwise missing.
        let accept: String?
    }

    private func authorityPEM(_ description: ServiceDescription) -> String? {
        FileManager.default.contents(atPath: description.ca).map { String(decoding: $0, as: UTF8.self) }
    }
}

extension PortPlan: ExpressibleByArgument {}
extension ClockChoice: ExpressibleByArgument {}
extension AcceptChoice: ExpressibleByArgument {}
