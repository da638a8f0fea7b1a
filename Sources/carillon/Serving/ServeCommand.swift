import ArgumentParser
import Configuration
import Foundation
import Logging
import Notifications
import Service

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

    @OptionGroup var log: LogOptions

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
        let supervisor = Supervisor(settings.logFormat, environment: environment)
        var logger = Logger(label: "carillon")
        logger.logLevel = settings.logLevel
        let authority = settings.folder.authorityFile
        let isFirstStart = !FileManager.default.fileExists(atPath: authority)
        let service = try await CarillonService.start(settings, logger: logger)
        try await supervisor.run(logger) { [logger] in
            supervisor.ready { await service.visitEventLoops() }
            if common.json || supervisor.isForPeople { announce(service, isFirstStart: isFirstStart) }
            // Log this for programs that wait for it in a container's log.
            logger.info("The service is ready")
            await service.run()
        }
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
        settings.logFormat = log.logFormat ?? settings.logFormat
        settings.logLevel = log.logLevel ?? settings.logLevel
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
        common.output.print(
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

extension PortPlan: ExpressibleByArgument {}
extension ClockChoice: ExpressibleByArgument {}
