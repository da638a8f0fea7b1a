package import BinaryAPI
package import Configuration
package import Connections
package import Courier
package import Delivery
package import DeliveryLogFiles
import Journal
package import Logging
package import Management
package import NIOCore
package import Notifications
package import ProviderAPI
import Rehearsals
package import Supervision

/// All settings of the service. docs/settings.md lists them in one table.
///
/// A command's option overrides an environment variable, and that overrides the settings file.
package struct Settings: Sendable {
    /// The folder for everything that the service keeps. If nil, it is ``defaultDataFolder``, or a temporary folder
    /// if the store is in memory.
    package var dataFolder: String?
    package static let defaultDataFolder = "./carillon-data"
    package var store = StoreChoice.sqlite
    /// The file with the key that seals the secrets in a PostgreSQL store.
    package var storeKeyFile: String?
    /// This node's name among the nodes that share the store; nil for the machine's name.
    package var nodeName: String?
    /// Where the node listens for other nodes; nil for nowhere.
    package var peer: ListenAddress?
    /// Where other nodes reach it; nil for ``peer``.
    package var peerAddress: ListenAddress?
    /// Whether PostgreSQL may lose commits in a crash (`synchronous_commit = off`).
    package var allowsAsynchronousCommit = false
    /// How many requests of providers the journal keeps, in the development environment. If nil, it keeps none, or
    /// ``JournalLimits/requestsForTests`` if the store is in memory or ``accept`` is `any`.
    package var journal: Int?
    /// The address to listen on; by default only this machine can connect.
    package var host = "127.0.0.1"
    /// Additional names for the server's certificate.
    package var hostnames: [String] = []
    /// The addresses of load balancers, which begin their connections with a PROXY header.
    package var proxies: [AddressRange] = []
    /// The environments that the service serves, each once.
    package var environments: [Environment] = Environment.allCases {
        didSet { environments = Environment.allCases.filter(environments.contains) }
    }
    package var conformance = Conformance.apple
    package var accept = AcceptChoice.known
    /// The addresses besides loopback from which `--accept any` accepts what the service does not know.
    package var acceptAnyFrom: [AddressRange] = []
    /// How much `--accept any` makes. Only tests change it.
    package var acceptLimits = AcceptLimits()
    package var clock = ClockChoice.system
    /// Which spelling the service uses for the reason that rejects a key of the other environment.
    package var environmentKeyReason = EnvironmentKeyReason.documented
    /// Whether answers of the provider API contain the key `detail`, in the development environment.
    package var answerDetail = true
    /// The length of device tokens, in bytes.
    package var deviceTokenBytes = DeviceToken.byteCount
    /// Whether an app's own device token does not serve the topics of its services.
    package var tokensByService = false
    package var ports = PortPlan.standard
    /// Ports that replace those of the plan.
    package var chosenPorts: [PortPlan.Listener: [Environment: Int]] = [:]
    /// Whether the system chooses each port in place of the plan's. For tests of a plan whose ports may be taken.
    package var usesFreePorts = false
    package var logFormat = LogFormat.text
    /// The least important level of messages that are logged.
    package var logLevel = Logger.Level.info
    /// Whether to start although the store's write-ahead log is damaged, and to lose the notifications in it. Only an
    /// option of the command can set this, so that it is valid for one start only.
    package var acceptsDamagedLog = false
    /// The path of the management API's Unix socket; nil for one in the data folder.
    package var socketPath: String?
    /// The operator's certificate for the listeners; nil if the service's own authority issues one.
    package var serverCertificate: ServerCertificateFiles?
    /// The operator's root certificate, under which a new data folder's authority is made; nil if the service makes
    /// its own root.
    package var authority: AuthorityFiles?
    /// Where the management API listens on TCP. Clients there need the key.
    package var management = ManagementListening.standard
    /// The key of the management API, for a store in memory; nil for the one in a file.
    package var managementKey: String?
    /// Whether a setting gives a key without a character. It counts as none.
    package private(set) var hasEmptyManagementKey = false
    /// The file with the key of the management API; nil for the one in the data folder.
    package var managementKeyFile: String?
    /// Where the management API listens on TLS. Clients there need an administrator's certificate. Nil if it does
    /// not.
    package var managementTLS: ListenAddress?
    /// Web Push, which is off unless a setting says where it listens.
    package var webPush = WebPushSettings()
    /// The number of threads that serve connections; nil for one for each core.
    package var eventLoops: Int?
    /// What makes the service an instance's own; nil for any other.
    package var instance: InstanceSettings?
    /// How long a clean shutdown may take. After this time, connections that are still open are closed.
    package var shutdownTimeout = TimeAmount.seconds(10)
    package var delivery = DeliveryLimits()
    package var channels = ChannelLimits()
    package var deliveryLog = DeliveryLogLimits()
    package var provider = ProviderLimits()
    package var grants = GrantRules()
    package var binary = BinaryLimits()
    package var courier = CourierLimits()
    package var listener = ListenerLimits()
    package var managementLimits = ManagementLimits()
    /// How many rehearsals may be active.
    package var activeRehearsals = RehearsalLimits.active
    /// The names of the limits that a setting has changed.
    var chosenLimits: Set<String> = []
    /// The settings that were given and that this version no longer has.
    package internal(set) var ignored: [String] = []

    package init() {}

    /// Reads the configured values. Settings that are not configured keep their values.
    ///
    /// The keys are those of the settings file. As environment variables, they are in capitals, have underscores in
    /// place of periods and hyphens, and begin with `CARILLON_`.
    package mutating func read(_ source: ConfigReader) throws(ServiceError) {
        let reader = source.scoped(to: "carillon")
        try Self.refuseReplaced(reader)
        dataFolder = reader.string(forKey: "data") ?? dataFolder
        if let text = reader.string(forKey: "store") { try setStore(text) }
        if let file = reader.string(forKey: "store-key-file"), !file.isEmpty { storeKeyFile = DataFolder(file).path }
        if let name = reader.string(forKey: "node-name") { try setNodeName(name) }
        if let text = reader.string(forKey: "peer"), !text.isEmpty { try setPeer(text) }
        if let text = reader.string(forKey: "peer-address"), !text.isEmpty { try setPeerAddress(text) }
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
        if let name = reader.string(forKey: "accept") {
            accept = try Self.value(name, of: "accept", AcceptChoice.init(rawValue:), AcceptChoice.allCases)
        }
        if let ranges = reader.stringArray(forKey: "accept-any-from") { try setAcceptAnyFrom(ranges) }
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
        for listener in PortPlan.Listener.allCases {
            if let ports = reader.stringArray(forKey: ConfigKey(listener.setting)) { try setPorts(of: listener, ports) }
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
        if let file = reader.string(forKey: "management-key-file"), !file.isEmpty { setManagementKeyFile(file) }
        if let key = reader.string(forKey: "management-key", isSecret: true) {
            if key.isEmpty { hasEmptyManagementKey = true } else { managementKey = key }
        }
        try readWebPush(reader)
        try readTrust(reader)
        try readLimits(reader)
    }

    /// Chooses the port of a listener, each a number or `ENVIRONMENT=NUMBER`.
    package mutating func setPorts(of listener: PortPlan.Listener, _ texts: [String]) throws(ServiceError) {
        for text in texts {
            let (environment, port) = try PortPlan.port(text, of: listener.setting, in: environments)
            chosenPorts[listener, default: [:]][environment] = port
        }
    }

    /// The value as text. Environment variables contain text, and a JSON file may contain a number.
    static func text(_ reader: ConfigReader, _ key: ConfigKey) -> String? {
        reader.string(forKey: key) ?? reader.int(forKey: key).map(String.init)
            ?? reader.double(forKey: key).map { String($0) }
    }

    /// The value as `true` or `false`. Environment variables contain text, and a JSON file may contain either.
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
