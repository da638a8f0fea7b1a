import Connections
import Delivery
import Foundation
import Logging
import Management
import NIOPosix
import Notifications
import Trust

/// What all parts of the service use. It exists before the first of them.
struct ServiceBase: Sendable {
    let settings: Settings
    let folder: DataFolder
    let store: any Store
    let secrets: SharedSecrets
    let log: ServiceLog
    let metrics: ServiceMetrics
    let limitLog: LimitLog
    let budget = ConnectionBudget(limit: OpenFiles.forConnections)
    let group: MultiThreadedEventLoopGroup
    let clock: ServiceClock
    let logger: Logger

    /// Loads the secrets from the store, and writes the root certificate into the data folder.
    init(
        _ settings: Settings,
        _ folder: DataFolder,
        store: any Store,
        log: ServiceLog,
        metrics: ServiceMetrics,
        group: MultiThreadedEventLoopGroup,
        clock: ServiceClock,
        logger: Logger,
    ) async throws(ServiceError) {
        secrets = try await SharedSecrets.load(
            from: store.secrets, under: settings.authority?.read(), isFirstStart: store.current.version == 0,
            tokenByteCount: settings.deviceTokenBytes, hasSealed: !store.current.upstreams.isEmpty,
            now: clock.machineTime)
        try folder.check(secrets.authority.rootPEM, of: settings.store)
        // Write the file only if it differs, so that a full disk does not prevent a start.
        if FileManager.default.contents(atPath: folder.authorityFile) != Data(secrets.authority.rootPEM.utf8) {
            try DataFolder.write(secrets.authority.rootPEM, to: folder.authorityFile, isPublic: true)
        }
        limitLog = LimitLog(
            logger, count: { metrics.limitExceeded($0) }, countMalformed: { metrics.malformedRequests(at: $0, by: $1) })
        self.settings = settings
        self.folder = folder
        self.store = store
        self.log = log
        self.metrics = metrics
        self.group = group
        self.clock = clock
        self.logger = logger
    }

    /// Makes a value for each environment that the service serves.
    func byEnvironment<Value>(_ make: (Environment) -> Value) -> [Environment: Value] {
        Dictionary(uniqueKeysWithValues: settings.environments.map { ($0, make($0)) })
    }

    /// Returns the root certificate that clients have to trust: the operator's, or that of the service's own authority.
    var authorityPEM: @Sendable () -> String {
        let (file, authority) = (settings.serverCertificate?.authority, secrets.authority)
        return {
            // The operator may replace the file while the service runs.
            let pem = file.flatMap { FileManager.default.contents(atPath: $0) }
            return pem.map { String(decoding: $0, as: UTF8.self) } ?? authority.rootPEM
        }
    }

    /// The names of the listeners, beside those that every certificate has.
    var serverNames: [String] {
        // An address that stands for all addresses of a machine is not a name for clients.
        let hosts = [settings.host, settings.webPush.listen?.host].compactMap(\.self)
            .filter { !$0.isEveryAddress }
        // The name under which senders of Web Push come.
        let origin = settings.webPush.listen == nil ? nil : settings.webPush.originHost
        return settings.hostnames + settings.ports.serverNames + hosts + [origin].compactMap(\.self)
    }

    /// Makes the certificate of the listeners.
    func makeServerCertificate() throws(ServiceError) -> ServerCertificate {
        try ServerCertificate(
            settings.serverCertificate.map { .files($0) } ?? .authority(secrets.authority, names: serverNames),
            now: clock.machineTime)
    }
}
