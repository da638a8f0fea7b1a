package import BinaryGateway
package import Configuration
package import Connections
package import Courier
package import Delivery
package import DeliveryLogFiles
import Journal
package import Logging
package import NIOCore
package import Notifications
package import ProviderGateway
import Rates

/// Everything that can be set. docs/settings.md lists it in one table.
///
/// An option of the command wins over an environment variable, and that over the settings file.
package struct Settings: Sendable {
    /// The folder that holds everything the service keeps; nil for ``defaultDataFolder``, or with the store in memory for a
    /// temporary one.
    package var dataFolder: String?
    package static let defaultDataFolder = "./carillon-data"
    package var store = StoreChoice.sqlite
    /// The file with the key that seals the secrets in a PostgreSQL store.
    package var storeKeyFile: String?
    /// The name of this node among those that use the store; nil for the machine's name.
    package var nodeName: String?
    /// Whether PostgreSQL may lose commits in a crash (`synchronous_commit = off`).
    package var allowsAsynchronousCommit = false
    /// How many requests of providers are kept for tests, in the development environment; nil for none, or with the store in
    /// memory for ``JournalLimits/requestsInMemory``.
    package var journal: Int?
    /// The address to listen on; by default only this machine can connect.
    package var host = "127.0.0.1"
    /// More names for the server's certificate.
    package var hostnames: [String] = []
    /// The addresses of load balancers that begin connections with a PROXY header.
    package var proxies: [AddressRange] = []
    /// The environments that the service serves, each once.
    package var environments: [Environment] = Environment.allCases {
        didSet { environments = Environment.allCases.filter(environments.contains) }
    }
    package var conformance = Conformance.apple
    package var clock = ClockChoice.system
    /// The spelling of the reason that rejects a key of the other environment.
    package var environmentKeyReason = EnvironmentKeyReason.documented
    /// Whether the provider API's answers in development have the key `detail`.
    package var answerDetail = true
    /// How many bytes a device token has.
    package var deviceTokenBytes = DeviceToken.byteCount
    /// Whether an app's own device token does not serve the topics of its services.
    package var tokensByService = false
    package var ports = PortPlan.standard
    package var logFormat = LogFormat.text
    /// Messages less important than this are not logged.
    package var logLevel = Logger.Level.info
    /// Whether to start although the store's write-ahead log is damaged and accepted notifications are lost with it. Only an
    /// option of the command sets it, so that it holds for one start only.
    package var acceptsDamagedLog = false
    /// Where the management API's Unix socket is; nil for the data folder.
    package var socketPath: String?
    /// The operator's certificate for the listeners; nil for one of the service's own authority.
    package var serverCertificate: ServerCertificateFiles?
    /// The root to make a new folder's authority under; nil to make one.
    package var authority: AuthorityFiles?
    /// Where the management API listens on TCP, for whoever has its key.
    package var management = ManagementListening.standard
    /// Where it listens with TLS, for administrators' certificates; nil for nowhere.
    package var managementTLS: ListenAddress?
    /// How many threads serve connections; nil for one a core.
    package var eventLoops: Int?
    /// How long a clean shutdown may take before open connections are closed.
    package var shutdownTimeout = TimeAmount.seconds(10)
    package var delivery = DeliveryLimits()
    package var channels = ChannelLimits()
    package var deliveryLog = DeliveryLogLimits()
    package var provider = ProviderLimits()
    package var binary = BinaryLimits()
    package var courier = CourierLimits()
    package var listener = ListenerLimits()
    /// Counted over the listeners of the provider API, the binary API and the feedback service together.
    package var providerConnects = ConnectLimits(connects: Rate(burst: 400, perSecond: 200), open: 20_000)
    /// Counted over the couriers' listeners together: a fleet behind one address comes back all at once.
    package var courierConnects = ConnectLimits(connects: Rate(burst: 20_000, perSecond: 2000), open: 20_000)
    /// Counted over the management API's TCP and TLS listeners together. `open` is 0, because one limit of open
    /// connections holds for all addresses together.
    package var managementConnects = ConnectLimits(connects: Rate(burst: 400, perSecond: 200), open: 0)

    package init() {}

    /// Reads what the configuration sets, and leaves the rest as it is.
    ///
    /// Keys are those of the settings file; as environment variables they are in capitals, with underscores in the
    /// place of periods and hyphens, after `CARILLON_`.
    package mutating func read(_ source: ConfigReader) throws(ServiceError) {
        let reader = source.scoped(to: "carillon")
        try Self.refuseReplaced(reader)
        dataFolder = reader.string(forKey: "data") ?? dataFolder
        if let text = reader.string(forKey: "store") { try setStore(text) }
        if let file = reader.string(forKey: "store-key-file"), !file.isEmpty { storeKeyFile = DataFolder(file).path }
        if let name = reader.string(forKey: "node-name") { try setNodeName(name) }
        allowsAsynchronousCommit = try Self.flag(reader, "store-asynchronous-commit") ?? allowsAsynchronousCommit
        journal = try Self.number(reader, "journal", in: 0...JournalLimits.requests) ?? journal
        host = reader.string(forKey: "host", default: host)
        hostnames = reader.stringArray(forKey: "hostname", default: hostnames)
        if let ranges = reader.stringArray(forKey: "proxy-protocol") { try setProxies(ranges) }
        if let names = reader.stringArray(forKey: "environment") {
            environments = try names.map { name throws(ServiceError) in
                try Self.value(name, of: "environment", Environment.init(rawValue:), Environment.allCases)
            }
        }
        if let name = reader.string(forKey: "conformance") {
            conformance = try Self.value(name, of: "conformance", Conformance.init(rawValue:), Conformance.allCases)
        }
        if let name = reader.string(forKey: "environment-key-reason") {
            environmentKeyReason = try Self.value(
                name, of: "environment-key-reason", EnvironmentKeyReason.init(rawValue:), EnvironmentKeyReason.allCases)
        }
        deviceTokenBytes = try Self.number(reader, "device-token-bytes", in: DeviceToken.lengths) ?? deviceTokenBytes
        tokensByService = try Self.flag(reader, "tokens-by-service") ?? tokensByService
        answerDetail = try Self.flag(reader, "answer-detail") ?? answerDetail
        if let name = reader.string(forKey: "ports") {
            ports = try Self.value(name, of: "ports", PortPlan.init(rawValue:), PortPlan.allCases)
        }
        if let name = reader.string(forKey: "clock") {
            clock = try Self.value(name, of: "clock", ClockChoice.init(rawValue:), ClockChoice.allCases)
        }
        if let name = reader.string(forKey: "log-format") {
            logFormat = try Self.value(name, of: "log-format", LogFormat.init(rawValue:), LogFormat.allCases)
        }
        if let name = reader.string(forKey: "log-level") {
            logLevel = try Self.value(name, of: "log-level", Logger.Level.init(rawValue:), Logger.Level.allCases)
        }
        socketPath = reader.string(forKey: "socket") ?? socketPath
        eventLoops = try Self.number(reader, "event-loops", in: 1...1024) ?? eventLoops
        if let text = reader.string(forKey: "management"), !text.isEmpty { try setManagement(text) }
        if let text = reader.string(forKey: "management-tls"), !text.isEmpty { try setManagementTLS(text) }
        try readTrust(reader)
        try readLimits(reader)
    }

    /// Reads the limits of the table in ``LimitSetting/all``.
    private mutating func readLimits(_ reader: ConfigReader) throws(ServiceError) {
        for limit in LimitSetting.all {
            let key = ConfigKey("limit.\(limit.name)")
            guard let text = Self.text(reader, key) else { continue }
            guard let value = Double(text), limit.range.contains(value) else {
                throw ServiceError(
                    .badSetting,
                    "The setting \(key) is \(text); it takes a number from \(limit.shown(limit.range.lowerBound)) to "
                        + "\(limit.shown(limit.range.upperBound)): \(limit.meaning).")
            }
            limit.set(&self, value)
        }
    }

    /// A number as text: environment variables hold text, a JSON file may hold a number.
    private static func text(_ reader: ConfigReader, _ key: ConfigKey) -> String? {
        reader.string(forKey: key) ?? reader.int(forKey: key).map(String.init)
            ?? reader.double(forKey: key).map { String($0) }
    }

    /// `true` or `false`: environment variables hold text, a JSON file holds either.
    private static func flag(_ reader: ConfigReader, _ key: ConfigKey) throws(ServiceError) -> Bool? {
        guard let text = reader.string(forKey: key) ?? reader.bool(forKey: key).map({ "\($0)" }) else { return nil }
        guard let flag = Bool(text) else {
            throw ServiceError(.badSetting, "The setting \(key) is \(text); it takes true or false.")
        }
        return flag
    }

    private static func number(
        _ reader: ConfigReader,
        _ key: ConfigKey,
        in range: ClosedRange<Int>,
    ) throws(ServiceError) -> Int? {
        guard let text = text(reader, key) else { return nil }
        guard let number = Int(text), range.contains(number) else {
            throw ServiceError(
                .badSetting,
                "The setting \(key) is \(text); it takes a whole number from \(range.lowerBound) to \(range.upperBound)."
            )
        }
        return number
    }

    private static func value<Value: RawRepresentable<String>>(
        _ text: String,
        of key: String,
        _ make: (String) -> Value?,
        _ all: [Value],
    ) throws(ServiceError) -> Value {
        if let value = make(text) { return value }
        let choices = all.map(\.rawValue).joined(separator: ", ")
        throw ServiceError(.badSetting, "The setting \(key) is \(text); it takes one of \(choices).")
    }
}
