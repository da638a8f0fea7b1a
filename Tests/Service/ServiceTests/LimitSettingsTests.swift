import Configuration
import Connections
import Courier
import Management
import ProviderAPI
import Rates
import Testing

@testable import Service

/// The limits as settings (docs/settings.md).
struct LimitSettingsTests {
    @Test func `Each limit is read from its variable, and changes its own setting`() throws {
        var seen = [try Self.settings(\.range.lowerBound): "all at their lowest"]
        for limit in Settings.limits {
            let changed = try Self.settings { $0.name == limit.name ? $0.range.upperBound : $0.range.lowerBound }
            let same = seen.updateValue(limit.name, forKey: changed)
            #expect(same == nil, "\(limit.name) changes no more than \(same ?? "")")
        }
    }

    /// A device keeps no more acknowledgements while it has no connection.
    @Test(arguments: ["UNACKNOWLEDGED", "UNACKNOWLEDGED_BROADCASTS"])
    func `No setting lets a device have more unacknowledged than it keeps`(_ name: String) throws {
        func read(_ value: String) throws {
            var settings = Settings()
            let variables = ["CARILLON_LIMIT_" + name: value]
            try settings.read(ConfigReader(provider: EnvironmentVariablesProvider(environmentVariables: variables)))
        }
        try read("10000")
        let error = #expect(throws: ServiceError.self) { try read("10001") }
        #expect(error?.cause.contains("10000") == true)
    }

    /// The rates of one address and one connect are against attackers. The others are part of a service's answers.
    @Test(arguments: Settings.limits.map(\.name).filter { $0.hasSuffix("-rate") })
    func `A rate of an address is off in a service for tests, and no other`(_ name: String) throws {
        func settings(_ limits: [String: String]) throws -> String {
            var settings = Settings()
            let variables = limits.merging(["CARILLON_STORE": "memory"]) { $1 }
            try settings.read(ConfigReader(provider: EnvironmentVariablesProvider(environmentVariables: variables)))
            settings.useLimitsForTests()
            return "\(settings)".replacing(/chosenLimits: [^\]]*\]/, with: "")
        }
        let variable = "CARILLON_LIMIT_" + name.uppercased().replacing("-", with: "_")
        #expect(
            try (settings([:]) == settings([variable: "0"]))
                == ["address", "connect", "guess"].contains { name.contains($0) })
    }

    @Test func `Limits against attackers are off in a service for tests, if no setting changes them`() throws {
        var inMemory = Settings()
        inMemory.store = .memory
        inMemory.useLimitsForTests()
        #expect(inMemory.provider.perAddress.connects.isUnlimited && inMemory.courier.perAddress.connects.isUnlimited)
        #expect(
            inMemory.managementLimits.perAddress.connects.isUnlimited && inMemory.managementLimits.connections == 4096)
        #expect(inMemory.managementLimits.streams == 2048 && inMemory.activeRehearsals == 10_000)
        // These bound the memory, and stay.
        #expect(inMemory.provider.perAddress.open == Settings().provider.perAddress.open)

        let variables = [
            "CARILLON_STORE": "memory", "CARILLON_LIMIT_PROVIDER_CONNECT_BURST": "7",
            "CARILLON_LIMIT_COURIER_CONNECT_RATE": "8",
            "CARILLON_LIMIT_MANAGEMENT_STREAMS": "9",
        ]
        var chosen = Settings()
        try chosen.read(ConfigReader(provider: EnvironmentVariablesProvider(environmentVariables: variables)))
        chosen.useLimitsForTests()
        #expect(chosen.provider.perAddress.connects == Rate(burst: 7, perSecond: 200))
        #expect(chosen.courier.perAddress.connects.perSecond == 8 && chosen.managementLimits.streams == 9)
        #expect(chosen.managementLimits.perAddress.connects.isUnlimited && chosen.activeRehearsals == 10_000)

        var lasting = Settings()
        lasting.useLimitsForTests()
        #expect("\(lasting)" == "\(Settings())")
    }

    @Test func `A setting of a limit that is a constant now is named, and its value does not matter`() throws {
        for value in ["5", "", "many"] {
            var settings = Settings()
            let variables = ["CARILLON_LIMIT_LOG_QUEUE": value, "CARILLON_LIMIT_NODE_BROADCASTS": value]
            try settings.read(ConfigReader(provider: EnvironmentVariablesProvider(environmentVariables: variables)))
            #expect(settings.ignored == ["limit.node-broadcasts", "limit.log-queue"])
        }
        #expect(Settings.goneLimits.allSatisfy { name in !Settings.limits.contains { $0.name == name } })
    }

    /// The settings as text, with this value for each limit.
    private static func settings(_ value: (LimitSetting<Settings>) -> Double) throws -> String {
        let variables = Settings.limits.map { ($0.variable, "\(value($0))") }
        let provider = EnvironmentVariablesProvider(environmentVariables: Dictionary(uniqueKeysWithValues: variables))
        var settings = Settings()
        try settings.read(ConfigReader(provider: provider))
        return "\(settings)"
    }
}
