import NIOCore
import Rates

/// One limit that the operator of a provider server may change, by an environment variable. docs/provider-server.md shows
/// the same table.
package struct ProviderLimitSetting: Sendable {
    package let name: String
    /// The meaning of the limit, and its unit.
    package let meaning: String
    package let range: ClosedRange<Double>
    let set: @Sendable (inout ProviderServer.Settings, Double) -> Void

    private static let prefix = "CARILLON_PROVIDER_LIMIT_"

    /// The name of the environment variable that sets the limit.
    package var variable: String { Self.prefix + name.uppercased().replacing("-", with: "_") }

    // fits below: $1: it is in its row's range, and the ranges end at a hundred million
    /// All limits. Setting the rate to 0 switches its limit off.
    package static let all: [ProviderLimitSetting] = [
        ProviderLimitSetting(
            name: "open-connections", meaning: "open connections; further ones wait until one closes",
            range: 1...1_000_000
        ) { $0.openConnections = Int($1) },
        ProviderLimitSetting(
            name: "idle-timeout", meaning: "seconds that a connection may be without a request", range: 1...86_400
        ) { $0.idleTimeout = .seconds(Int64($1)) },
        ProviderLimitSetting(
            name: "request-timeout",
            meaning:
                "seconds for a request, and for the client to read an answer; a body gets a second more for each KiB",
            range: 1...86_400
        ) { $0.requestTimeout = .seconds(Int64($1)) },
        ProviderLimitSetting(
            name: "change-rate", meaning: "changes a minute of one installation; 0 for any number", range: 0...1_000_000
        ) { $0.installationChanges.perSecond = $1 / 60 },
        ProviderLimitSetting(
            name: "change-burst", meaning: "changes at once of one installation", range: 1...1_000_000
        ) { $0.installationChanges.burst = Int($1) },
        ProviderLimitSetting(
            name: "new-rate",
            meaning: "new installations a minute that the copies of one app may add; 0 for any number",
            range: 0...100_000_000
        ) { $0.newInstallations.perSecond = $1 / 60 },
        ProviderLimitSetting(
            name: "new-burst", meaning: "new installations at once that the copies of one app may add",
            range: 1...100_000_000
        ) { $0.newInstallations.burst = Int($1) },
        ProviderLimitSetting(
            name: "message-days", meaning: "days for which ended messages and their outcomes are kept; 0 for ever",
            range: 0...36_500
        ) { $0.messageDays = $1 },
    ]

    /// Reads the limits from environment variables. Limits that are not there keep their values.
    /// - Throws: an error that names the variable and the allowed values.
    package static func read(
        _ environment: [String: String],
        into settings: inout ProviderServer.Settings,
    ) throws(ProviderServerError) {
        for (variable, text) in environment.sorted(by: { $0.key < $1.key }) where variable.hasPrefix(prefix) {
            guard let limit = all.first(where: { $0.variable == variable }) else {
                throw ProviderServerError(
                    .invalidSetting, "There is no setting \(variable); docs/provider-server.md lists them all.")
            }
            guard let value = Double(text), limit.range.contains(value) else {
                throw ProviderServerError(
                    .invalidSetting,
                    // fits: the ranges above end at a hundred million
                    "The setting \(variable) is \(text); it takes a number from \(Int(limit.range.lowerBound)) to "
                        // fits: the ranges above end at a hundred million
                        + "\(Int(limit.range.upperBound)): \(limit.meaning).")
            }
            limit.set(&settings, value)
        }
    }
}
