import Foundation
public import Logging
import NIOCore
public import ServiceLifecycle
import Synchronization
import Tracing

/// A provider: sends notifications to the service, Apple's or any other that speaks the same API, Carillon's for one.
///
/// ```swift
/// try await ProviderClient.withClient(credentials: credentials, environment: .production) { client in
///     let receipt = try await client.send(notification, to: deviceToken)
/// }
/// ```
///
/// A client opens connections when there is something to send, keeps them open, and does what the Guide asks of a
/// provider (2.3.3.1): it spreads over the service's addresses, sends one provider token over all connections and renews
/// it in time, and tries again, ever later, what may be tried again. Make one for each key or certificate, and keep it.
///
/// It works from the moment it is made. As a `Service` it ends gracefully with the others: what is under way is
/// answered first.
public final class ProviderClient: Service, Sendable {
    let core: ClientCore
    let configuration: Configuration
    let metrics: ProviderMetrics
    let tracer: (any Tracer)?
    let logger: Logger
    private let environment: APNSEnvironment
    private let clock: @Sendable () -> UInt64

    /// Makes a client. Nothing is sent before the first notification; see ``connect(within:)``.
    /// - Throws: ``ProviderError/Code/badEnvironment`` when the authority's certificate cannot be read.
    public convenience init(
        credentials: ProviderCredentials,
        environment: APNSEnvironment,
        configuration: Configuration = Configuration(),
        logger: Logger = Logger(label: "apns-provider") { _ in SwiftLogNoOpLogHandler() },
    ) throws(ProviderError) {
        try self.init(
            credentials: credentials, environment: environment, configuration: configuration, logger: logger,
            internals: Internals())
    }

    /// What tests put in the place of the system's.
    struct Internals: Sendable {
        var lookUp = HostLookup.system
        var limits = ConnectionPlan.Limits()
        var keepAlive = KeepAlive.Times()
        var openTimeout = ConnectionOpener.timeout
        var metrics = ProviderMetrics()
        /// Nil for the one that the program has installed.
        var tracer: (any Tracer)?
        /// Seconds since 1970.
        var clock: @Sendable () -> UInt64 = { UInt64(max(0, Date().timeIntervalSince1970)) }
    }

    init(
        credentials: ProviderCredentials,
        environment: APNSEnvironment,
        configuration: Configuration,
        logger: Logger,
        internals: Internals,
    ) throws(ProviderError) {
        self.configuration = configuration
        self.environment = environment
        self.logger = logger
        metrics = internals.metrics
        tracer = internals.tracer
        clock = internals.clock
        var limits = internals.limits
        limits.connections = max(1, configuration.maximumConnections)
        var settings = Dispatcher.Settings(
            environment: environment, limits: limits, keepAlive: internals.keepAlive,
            maximumWaiting: configuration.maximumWaiting, lookUp: internals.lookUp)
        settings.openTimeout = internals.openTimeout
        core = ClientCore(
            settings: settings,
            opener: ConnectionOpener(
                environment: environment, tls: try environment.tls(credentials)),
            keeper: ProviderTokenKeeper(credentials, store: configuration.tokenStore, clock: internals.clock),
            logger: logger,
            metrics: internals.metrics)
    }

    /// Makes a client, runs `body` with it, and ends it: what is under way when `body` returns is answered first.
    public static func withClient<Value>(
        credentials: ProviderCredentials,
        environment: APNSEnvironment,
        configuration: Configuration = Configuration(),
        logger: Logger = Logger(label: "apns-provider") { _ in SwiftLogNoOpLogHandler() },
        _ body: (ProviderClient) async throws -> Value,
    ) async throws -> Value {
        let client = try ProviderClient(
            credentials: credentials, environment: environment, configuration: configuration, logger: logger)
        do {
            let value = try await body(client)
            await client.shutDown()
            return value
        } catch {
            await client.shutDown()
            throw error
        }
    }

    /// Waits for the graceful shutdown, or for the task to be cancelled, and ends the client.
    public func run() async throws {
        // Either way it is time to end.
        try? await gracefulShutdown()
        await shutDown()
    }

    /// Takes no more notifications, lets those under way be answered, for ten seconds at most, and closes the
    /// connections.
    public func shutDown() async {
        // There is nobody left to tell.
        try? await core.run { $0.shutDown($1) }
    }

    /// Opens a connection ahead of the first notification, so that what is wrong with the address, the authority or the
    /// certificate shows at once. What is wrong with a signing key shows with the first notification.
    /// - Throws: ``ProviderError/Code/cannotConnect`` when the first attempt fails,
    ///   ``ProviderError/Code/deadlineExceeded``, or ``ProviderError/Code/cancelled``.
    public func connect(within time: Duration = .seconds(10)) async throws(ProviderError) {
        let deadline = NIODeadline.now() + TimeAmount(bounding: time)
        try await core.run(isCancellable: true) { $0.connect(until: deadline, $1) }
    }

    /// Replaces the key or the certificate. Connections that used the old one are closed before the new one is used
    /// (Guide, 2.3.3.1); notifications wait meanwhile. Returns when the old connections are gone.
    /// - Throws: ``ProviderError/Code/badCredentials`` when the new ones cannot be used; then the old ones are kept.
    public func replaceCredentials(with credentials: ProviderCredentials) async throws(ProviderError) {
        let opener = ConnectionOpener(environment: environment, tls: try environment.tls(credentials))
        let keeper = ProviderTokenKeeper(credentials, store: configuration.tokenStore, clock: clock)
        try await core.run { $0.replace(opener, keeper, $1) }
    }
}
