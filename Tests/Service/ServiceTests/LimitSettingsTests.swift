import Configuration
import Service
import Testing

/// The limits as settings (docs/settings.md).
struct LimitSettingsTests {
    @Test func `Each limit is read from its variable, and changes its own setting`() throws {
        var seen = [try Self.settings(\.range.lowerBound): "all at their lowest"]
        for limit in LimitSetting.all {
            let changed = try Self.settings { $0.name == limit.name ? $0.range.upperBound : $0.range.lowerBound }
            let same = seen.updateValue(limit.name, forKey: changed)
            #expect(same == nil, "\(limit.name) changes no more than \(same ?? "")")
        }
    }

    /// The settings as text, with this value for each limit.
    private static func settings(_ value: (LimitSetting) -> Double) throws -> String {
        let variables = LimitSetting.all.map { ($0.variable, "\(value($0))") }
        let provider = EnvironmentVariablesProvider(environmentVariables: Dictionary(uniqueKeysWithValues: variables))
        var settings = Settings()
        try settings.read(ConfigReader(provider: provider))
        return "\(settings)"
    }
}
