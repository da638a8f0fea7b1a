import BinaryAPI
import Configuration
import Connections
import Courier
import Delivery
import DeliveryLogFiles
import HTTP2
import Management
import NIOCore
import ProviderAPI
package import Rates
import Rehearsals
import WebPush

// The limits that are settings: `limit.<name>` in the settings file, `CARILLON_LIMIT_<NAME>` in the environment.
extension Settings {
    /// All of them. docs/settings.md has them in tables.
    package static let limits: [LimitSetting<Settings>] = [
        ProviderLimits.settings.map { $0.of(\.provider) }, CourierLimits.settings.map { $0.of(\.courier) },
        ListenerLimits.settings.map { $0.of(\.listener) }, BinaryLimits.settings.map { $0.of(\.binary) },
        DeliveryLimits.settings.map { $0.of(\.delivery) }, ChannelLimits.settings.map { $0.of(\.channels) },
        WebPushLimits.settings.map { $0.of(\.webPush.limits) }, GrantRules.settings.map { $0.of(\.grants) },
        DeliveryLogLimits.settings.map { $0.of(\.deliveryLog) },
        ManagementLimits.settings.map { $0.of(\.managementLimits) }, ofSeveralParts,
    ].flatMap(\.self)

    private static let ofSeveralParts: [LimitSetting<Settings>] = [
        LimitSetting(
            .openConnections, "open connections of one address to the provider ports, and to the couriers", .rates,
            \.openConnections, .count),
        LimitSetting(.requestTimeout, "seconds for a request", .seconds, \.requestTimeout, .seconds),
        LimitSetting(
            "shutdown-timeout", "seconds that a clean shutdown waits for what is open", 0...3600, \.shutdownTimeout,
            .seconds),
        LimitSetting(
            "rehearsals", "active rehearsals", 1...100_000, \.activeRehearsals, .count,
            forTests: Double(RehearsalLimits.activeForTests)),
    ]

    private var openConnections: Int {
        get { provider.perAddress.open }
        set {
            provider.perAddress.open = newValue
            courier.perAddress.open = newValue
        }
    }

    private var requestTimeout: TimeAmount {
        get { provider.requestTimeout }
        set {
            provider.requestTimeout = newValue
            courier.requestTimeout = newValue
        }
    }

    /// Limits that are constants since 0.3.0. Their settings are ignored, so that a service starts after an upgrade. The release
    /// after that refuses them, as any name that there is not.
    static let goneLimits = [
        "binary-unanswered", "binary-linger-timeout", "feedback-timeout", "node-broadcasts", "log-queue",
    ]

    mutating func readLimits(_ reader: ConfigReader) throws(ServiceError) {
        for setting in Self.limits {
            let key = ConfigKey("limit.\(setting.name)")
            guard let text = Self.text(reader, key) else { continue }
            guard setting.read(text, into: &self) else {
                throw ServiceError(.badSetting, "The setting \(key) is \(text); it takes \(setting.taken).")
            }
            chosenLimits.insert(setting.name)
        }
        ignored += Self.goneLimits.map { "limit.\($0)" }.filter { Self.text(reader, ConfigKey($0)) != nil }
    }

    /// If the service is one for tests, sets the limits that protect it from attackers so high that they only bound its
    /// memory. Limits that a setting has changed stay, and a rate whose burst has been changed; and so do those that are part of a
    /// service's answers, such as those of one device token.
    package mutating func useLimitsForTests() {
        guard isForTests else { return }
        for setting in Self.limits {
            guard let number = setting.forTests else { continue }
            let burst = setting.name.replacing("-rate", with: "-burst")
            if chosenLimits.isDisjoint(with: [setting.name, burst]) { setting.set(number, in: &self) }
        }
    }
}

extension LimitSetting<Settings> {
    /// The name of the environment variable.
    package var variable: String { variable(after: "CARILLON_LIMIT_") }
}
