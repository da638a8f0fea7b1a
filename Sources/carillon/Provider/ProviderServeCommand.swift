import ArgumentParser
import CoreMetrics
import Foundation
import Logging
import PrometheusMetrics
import ProviderServer
import Service
import ServiceLifecycle
import UnixSignals

struct ProviderServeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "serve", abstract: "Run the provider server.")

    @OptionGroup var options: ProviderOptions

    @Option(help: "Where to listen: ADDRESS:PORT; port 0 lets the system choose.")
    var listen = "127.0.0.1:2190"

    @Option(help: "The server's certificate and its chain, PEM. Addresses other than loopback need it.")
    var certificate: String?

    @Option(name: .customLong("key"), help: "The certificate's key, PEM.")
    var key: String?

    @Option(name: .customLong("log-format"), help: "The lines of the log on standard error: text or json.")
    var logFormat = LogFormat.text

    func run() async throws {
        OpenFiles.raise()
        let address = try HostAndPort(listen, defaultPort: 0)
        var settings = ProviderServer.Settings(folder: options.folder, host: address.host, port: address.port)
        switch (certificate, key) {
        case (let certificate?, let key?): settings.tls = (certificate, key)
        case (nil, nil): break
        default: throw ValidationError("--certificate and --key go together.")
        }
        let environment = ProcessInfo.processInfo.environment
        LoggingSystem.bootstrap { [logFormat] in logFormat.handler(label: $0, environment: environment) }
        let metrics = PrometheusRegistry()
        MetricsSystem.bootstrap(metrics)
        settings.metrics = { metrics.text() }
        let server = try await ProviderServer(settings, logger: Logger(label: "carillon-provider")) { description in
            options.output.print(
                Ready(url: description.url, keyFile: description.keyFile),
                "The provider server listens on \(description.url)\nThe administrator's key is in \(description.keyFile)"
            )
        }
        var logger = Logger(label: "carillon-provider")
        logger.logLevel = .warning
        try await ServiceGroup(
            configuration: ServiceGroupConfiguration(
                services: [.init(service: server)], gracefulShutdownSignals: [.sigterm, .sigint], logger: logger)
        ).run()
    }

    private struct Ready: Encodable {
        let event = "ready"
        let url: String
        let keyFile: String
    }
}
