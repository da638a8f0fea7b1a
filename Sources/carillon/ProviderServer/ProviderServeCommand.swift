import APNSProvider
import ArgumentParser
import CommandSupport
import CoreMetrics
import Foundation
import Logging
import PrometheusMetrics
import ProviderServer
import Service
import Supervision

struct ProviderServeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "serve", abstract: "Run the provider server.")

    @OptionGroup var options: ProviderOptions

    @Option(help: "Where to listen: ADDRESS:PORT; port 0 lets the system choose.")
    var listen = "127.0.0.1:2190"

    @Option(help: "The server's certificate and its chain, PEM. Addresses other than loopback need it.")
    var certificate: String?

    @Option(name: .customLong("key"), help: "The certificate's key, PEM.")
    var key: String?

    @Option(
        help: ArgumentHelp(
            "Where the data is kept: sqlite, in the data folder; or the URL of a PostgreSQL database, without a password "
                + "(or CARILLON_PROVIDER_STORE).", valueName: "store"))
    var store: String?

    @Option(
        name: .customLong("store-key-file"),
        help: ArgumentHelp(
            "The file with the key of a PostgreSQL store: 64 hexadecimal digits (or CARILLON_PROVIDER_STORE_KEY_FILE).",
            valueName: "file"))
    var storeKeyFile: String?

    @Option(help: "A name under which browsers reach the console; may be given several times.")
    var hostname: [String] = []

    @Flag(
        name: .customLong("local-hooks"),
        help: "Let an app's key add hooks on this machine. The administrator's key always may.")
    var localHooks = false

    @OptionGroup var log: LogOptions

    func run() async throws {
        OpenFiles.raise()
        let address = try HostAndPort(listen, defaultPort: 0)
        var settings = ProviderServer.Settings(folder: options.folder, host: address.host, port: address.port)
        settings.hostnames = hostname
        settings.allowsLocalHooks = localHooks
        switch (certificate, key) {
        case (let certificate?, let key?): settings.tls = (certificate, key)
        case (nil, nil): break
        default: throw ValidationError("--certificate and --key go together.")
        }
        let environment = ProcessInfo.processInfo.environment
        settings.store = try chosenStore(environment)
        let setting =
            options.proxy.map { (name: "--proxy", url: $0) }
            ?? environment["CARILLON_PROVIDER_PROXY"].map { (name: "CARILLON_PROVIDER_PROXY", url: $0) }
        settings.proxies = try ProxyRules(variables: environment, setting: setting)
        try ProviderServerLimits.read(environment, into: &settings)
        let supervisor = Supervisor(
            try log.logFormat ?? Self.variable("LOG_FORMAT", environment) ?? .text, environment: environment)
        var logger = Logger(label: "carillon-provider")
        logger.logLevel = try log.logLevel ?? Self.variable("LOG_LEVEL", environment) ?? .info
        let metrics = PrometheusRegistry(help: ProviderServerMetrics.help)
        MetricsSystem.bootstrap(metrics)
        settings.metrics = { metrics.text() }
        let server = try await ProviderServer(settings, logger: logger) { [logger] description in
            supervisor.ready { await ProviderServer.visitEventLoops() }
            if options.json || supervisor.isForPeople { announce(description) }
            // Log this for programs that wait for it in a container's log.
            logger.info("The provider server is ready")
        }
        try await supervisor.run(logger) { try await server.run() }
    }

    private func announce(_ description: ProviderServer.Description) {
        options.output.print(
            Ready(url: description.url, keyFile: description.keyFile),
            """
            The provider server listens on \(description.url)
            The administrator's key is in \(description.keyFile)
            The console: \(description.url)/console   sign in with: \(console)
            """)
    }

    /// The value of an environment variable that takes one of a few words; nil if it is not set.
    private static func variable<Value: RawRepresentable<String> & CaseIterable>(
        _ name: String,
        _ environment: [String: String],
    ) throws -> Value? {
        let name = "CARILLON_PROVIDER_" + name
        guard let text = environment[name] else { return nil }
        if let value = Value(rawValue: text) { return value }
        let choices = Value.allCases.map(\.rawValue).joined(separator: ", ")
        throw ValidationError("\(name) is \(text); it takes one of \(choices).")
    }

    private func chosenStore(_ environment: [String: String]) throws -> CampaignStoreChoice {
        let named = try (store ?? environment["CARILLON_PROVIDER_STORE"]).map {
            try StoreChoice($0, isArgument: store != nil)
        }
        switch named {
        case .sqlite, nil: return .sqlite
        case .memory: throw ValidationError("A provider server has no store in memory: --store takes sqlite or a URL.")
        #if PostgreSQL
            case .postgresql(let location):
                let file = storeKeyFile ?? environment["CARILLON_PROVIDER_STORE_KEY_FILE"]
                return .postgresql(location, try StoreKeyFile.read(file))
        #endif
        }
    }

    /// The command that prints a link to the console.
    private var console: String {
        "\(shellQuoted(ProcessArguments.program(usual: "carillon"))) provider console --data \(shellQuoted(options.folder))"
    }

    private struct Ready: Encodable {
        let event = "ready"
        let url: String
        let keyFile: String
    }
}
