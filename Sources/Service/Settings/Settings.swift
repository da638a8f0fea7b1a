package import Configuration
package import Courier
package import Delivery
package import HTTP2
package import NIOCore
package import Notifications
package import ProviderGateway

/// Everything that can be set. docs/settings.md lists it in one table.
///
/// An option of the command wins over an environment variable, and that over the settings file.
package struct Settings: Sendable {
    /// The folder that holds everything the service keeps.
    package var dataFolder = "./carillon-data"
    /// The address to listen on. Loopback unless somebody asks for more.
    package var host = "127.0.0.1"
    /// More names for the server's certificate.
    package var hostnames: [String] = []
    package var environments: [Environment] = Environment.allCases
    package var conformance = Conformance.apple
    package var ports = PortPlan.standard
    /// Where the administration's socket is; nil for the data folder.
    package var socketPath: String?
    /// How many threads serve connections; nil for one a core.
    package var eventLoops: Int?
    /// How long a clean shutdown may take before what is still open is closed.
    package var shutdownTimeout = TimeAmount.seconds(10)
    package var delivery = DeliveryLimits()
    package var provider = ProviderLimits()
    package var courier = CourierLimits()
    package var listener = ListenerLimits()

    package init() {}

    /// Reads what the configuration sets, and leaves the rest as it is.
    ///
    /// Keys are those of the settings file; as environment variables they are in capitals, with underscores in the
    /// place of periods and hyphens, after `CARILLON_`.
    package mutating func read(_ source: ConfigReader) throws(ServiceError) {
        let reader = source.scoped(to: "carillon")
        dataFolder = reader.string(forKey: "data", default: dataFolder)
        host = reader.string(forKey: "host", default: host)
        hostnames = reader.stringArray(forKey: "hostname", default: hostnames)
        if let names = reader.stringArray(forKey: "environment") {
            environments = try names.map { name throws(ServiceError) in
                try Self.value(name, of: "environment", Environment.init(rawValue:), Environment.allCases)
            }
        }
        if let name = reader.string(forKey: "conformance") {
            conformance = try Self.value(name, of: "conformance", Conformance.init(rawValue:), Conformance.allCases)
        }
        if let name = reader.string(forKey: "ports") {
            ports = try Self.value(name, of: "ports", PortPlan.init(rawValue:), PortPlan.allCases)
        }
        socketPath = reader.string(forKey: "socket") ?? socketPath
        eventLoops = try Self.number(reader, "event-loops", in: 1...1024) ?? eventLoops
        try readLimits(reader)
    }

    private mutating func readLimits(_ reader: ConfigReader) throws(ServiceError) {
        if let days = try Self.number(reader, "limit.retention-days", in: 1...3650) {
            delivery.retention = .seconds(days * 24 * 60 * 60)
        }
        if let time = try Self.number(reader, "limit.acknowledgement-grace-milliseconds", in: 1...10_000) {
            delivery.acknowledgementGrace = .milliseconds(time)
        }
        if let count = try Self.number(reader, "limit.unacknowledged-per-device", in: 1...100_000) {
            delivery.unacknowledgedPerDevice = count
        }
        if let count = try Self.number(reader, "limit.pending-stores", in: 16...10_000_000) {
            delivery.pendingStoresPerShard = max(1, count / DeliveryLimits.shards)
        }
        if let count = try Self.number(reader, "limit.concurrent-streams", in: 1...100_000) {
            provider.concurrentStreams = count
        }
        if let seconds = try Self.number(reader, "limit.request-timeout-seconds", in: 1...3600) {
            provider.requestTimeout = .seconds(Int64(seconds))
            courier.requestTimeout = .seconds(Int64(seconds))
        }
        if let seconds = try Self.number(reader, "limit.idle-provider-seconds", in: 1...1_000_000) {
            provider.idleTimeout = .seconds(Int64(seconds))
        }
        if let seconds = try Self.number(reader, "limit.handshake-timeout-seconds", in: 1...3600) {
            listener.handshakeTimeout = .seconds(Int64(seconds))
        }
        if let seconds = try Self.number(reader, "limit.keep-alive-seconds", in: 1...1_000_000) {
            courier.keepAlive = .seconds(Int64(seconds))
        }
        if let seconds = try Self.number(reader, "limit.shutdown-seconds", in: 0...3600) {
            shutdownTimeout = .seconds(Int64(seconds))
        }
    }

    private static func number(
        _ reader: ConfigReader,
        _ key: ConfigKey,
        in range: ClosedRange<Int>,
    ) throws(ServiceError) -> Int? {
        guard let text = reader.string(forKey: key) ?? reader.int(forKey: key).map(String.init) else { return nil }
        guard let number = Int(text), range.contains(number) else {
            throw ServiceError(
                .badSetting,
                "The setting \(key) is \(text); it takes a whole number from \(range.lowerBound) to \(range.upperBound).")
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
