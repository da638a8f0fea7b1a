import Foundation
public import Logging
package import NIOCore
import NIOPosix
public import ServiceLifecycle
import Synchronization
import Tracing

/// A client that sends notifications to Apple's service, or to another service with the same API, such as Carillon.
///
/// ```swift
/// try await ProviderClient.withClient(credentials: credentials, environment: .production) { client in
///     let receipt = try await client.send(notification, to: deviceToken)
/// }
/// ```
///
/// The client opens connections when there is something to send, and keeps them open. It follows the Guide's rules
/// for providers (2.3.3.1): it spreads its connections over the service's addresses, uses one provider token on all
/// connections and renews it in time, and sends again with growing delays if that is safe. Make one client for each
/// key or certificate, and keep it.
///
/// A client works as soon as it is created. You can also run it as a `Service` beside the others of your
/// application: when they shut down gracefully, notifications that are under way are answered first.
public final class ProviderClient: Service, Sendable {
    let core: ClientCore
    let configuration: Configuration
    let metrics: ProviderMetrics
    let tracer: (any Tracer)?
    let logger: Logger
    private let environment: APNSEnvironment
    private let clock: @Sendable () -> UInt64

    /// Creates a client. It opens no connection before the first notification, unless you call ``connect(within:)``.
    /// - Throws: ``ProviderError/Code/badEnvironment`` if the authority's certificate cannot be read.
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

    /// Creates a gateway's client. Its connections are counted, and while somebody waits for one, it tries to connect once a
    /// second.
    /// - Parameters:
    ///   - group: the event loops of which one has the client's connections.
    ///   - connectionsChanged: called when the number of connections has changed, with the difference.
    package convenience init(
        credentials: ProviderCredentials,
        environment: APNSEnvironment,
        configuration: Configuration,
        logger: Logger,
        group: any EventLoopGroup,
        connectionsChanged: @escaping @Sendable (Int) -> Void,
    ) throws(ProviderError) {
        var internals = Internals()
        internals.group = group
        internals.connectionsChanged = connectionsChanged
        internals.limits.delays = .connectingForOthers
        try self.init(
            credentials: credentials, environment: environment, configuration: configuration, logger: logger,
            internals: internals)
    }

    /// Replacements for what the system provides, for tests.
    struct Internals: Sendable {
        var group: any EventLoopGroup = MultiThreadedEventLoopGroup.singleton
        var lookUp = HostLookup.system
        var limits = ConnectionPlan.Limits()
        var keepAlive = KeepAlive.Times()
        var openTimeout = ConnectionOpener.timeout
        var metrics = ProviderMetrics()
        /// The tracer; nil for the one that the program has installed.
        var tracer: (any Tracer)?
        /// Called when the number of connections has changed, with the difference.
        var connectionsChanged: @Sendable (Int) -> Void = { _ in }
        /// Seconds since 1970.
        // fits: the machine's clock
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
        var settings = RequestDispatcher.Settings(
            environment: environment, limits: limits, keepAlive: internals.keepAlive,
            maximumWaiting: configuration.maximumWaiting, lookUp: internals.lookUp, clock: internals.clock)
        settings.openTimeout = internals.openTimeout
        settings.connectionsChanged = internals.connectionsChanged
        core = ClientCore(
            loop: internals.group.any(),
            settings: settings,
            opener: try ConnectionOpener(
                environment: environment, credentials: credentials, proxy: configuration.proxy),
            keeper: ProviderTokenKeeper(credentials, store: configuration.tokenStore, clock: internals.clock),
            logger: logger,
            metrics: internals.metrics)
    }

    /// Why notifications have to wait at the moment: the last answer because of which one is sent again, or why there is no
    /// connection. Nil if the service has accepted one since.
    package var trouble: ProviderError? { core.trouble }

    /// Creates a client, runs `body` with it, and shuts it down. Notifications that are under way when `body`
    /// returns are answered first.
    /// - Throws: ``ProviderError/Code/badEnvironment`` if the authority's certificate cannot be read, or the error
    ///   of `body`.
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

    /// Waits for the graceful shutdown or until the task is cancelled, then shuts the client down.
    public func run() async throws {
        // The client shuts down in both cases, so the error does not matter.
        try? await gracefulShutdown()
        await shutDown()
    }

    /// Refuses new notifications, waits up to ten seconds for the answers to those under way, and closes the
    /// connections.
    public func shutDown() async {
        // Ignore an error, because there is no caller to report it to.
        try? await core.run { $0.shutDown($1) }
    }

    /// Opens a connection before the first notification, so that a wrong address, authority or certificate shows at
    /// once. A wrong signing key only shows with the first notification.
    /// - Parameter time: the time for the whole attempt.
    /// - Throws: ``ProviderError/Code/cannotConnect`` if the first attempt fails,
    ///   ``ProviderError/Code/deadlineExceeded``, ``ProviderError/Code/cancelled``, or
    ///   ``ProviderError/Code/shutDown``.
    public func connect(within time: Duration = .seconds(10)) async throws(ProviderError) {
        let deadline = NIODeadline.now() + TimeAmount(bounding: time)
        try await core.run(isCancellable: true) { $0.connect(until: deadline, $1) }
    }

    /// Replaces the key or the certificate.
    ///
    /// All connections with the old credentials are closed before the new ones are used (Guide, 2.3.3.1).
    /// Notifications wait meanwhile. Returns when the old connections are closed.
    /// - Throws: ``ProviderError/Code/badEnvironment`` if TLS cannot be set up with the new credentials. The old
    ///   ones then stay in use.
    public func replaceCredentials(with credentials: ProviderCredentials) async throws(ProviderError) {
        let opener = try ConnectionOpener(
            environment: environment, credentials: credentials, proxy: configuration.proxy)
        let keeper = ProviderTokenKeeper(credentials, store: configuration.tokenStore, clock: clock)
        try await core.run { $0.replace(opener, keeper, $1) }
    }
}
