import Connections
import NIOCore
package import Rates

// The limits that the operator of a provider server may change, by an environment variable.
extension ProviderServerLimits {
    /// All of them. docs/provider-server.md has them in a table.
    package static let settings: [LimitSetting<ProviderServer.Settings>] = [
        LimitSetting(
            "open-connections", "open connections; further ones wait until one closes", 1...1_000_000,
            \.openConnections,
            .count),
        LimitSetting(
            "idle-timeout", "seconds that a connection may be without a request", 1...86_400, \.idleTimeout, .seconds),
        LimitSetting(
            "request-timeout",
            "seconds for a request, and for the client to read an answer; a body gets a second more for each KiB",
            1...86_400, \.requestTimeout, .seconds),
        LimitSetting(
            "change-rate", "changes a minute of one installation; 0 for any number", .rates,
            \.installationChanges.perSecond, .perMinute),
        LimitSetting(
            "change-burst", "changes at once of one installation", 1...1_000_000, \.installationChanges.burst, .count),
        LimitSetting(
            "new-rate", "new installations a minute that the copies of one app may add; 0 for any number",
            0...100_000_000, \.newInstallations.perSecond, .perMinute),
        LimitSetting(
            "new-burst", "new installations at once that the copies of one app may add", 1...100_000_000,
            \.newInstallations.burst, .count),
        LimitSetting(
            "message-days", "days for which ended messages and their outcomes are kept; 0 for ever", 0...36_500,
            \.messageDays, .number),
    ]

    /// Reads the limits from environment variables. Limits that are not there keep their values.
    /// - Throws: an error that names the variable and the allowed values.
    package static func read(
        _ environment: [String: String],
        into settings: inout ProviderServer.Settings,
    ) throws(ProviderServerError) {
        for (variable, text) in environment.sorted(by: { $0.key < $1.key })
        where variable.hasPrefix(LimitSetting<ProviderServer.Settings>.prefix) {
            guard let setting = Self.settings.first(where: { $0.variable == variable }) else {
                throw ProviderServerError(
                    .invalidSetting, "There is no setting \(variable); docs/provider-server.md lists them all.")
            }
            guard setting.read(text, into: &settings) else {
                throw ProviderServerError(
                    .invalidSetting, "The setting \(variable) is \(text); it takes \(setting.taken).")
            }
        }
    }
}

extension LimitSetting<ProviderServer.Settings> {
    fileprivate static var prefix: String { "CARILLON_PROVIDER_LIMIT_" }

    /// The name of the environment variable.
    package var variable: String { variable(after: Self.prefix) }
}
