import Management
import Notifications
import ProviderAPI
import Testing
import Service
import Delivery
import Rates
import Connections

@testable import ServiceTesting

/// What tests of the provider API need: a service with two teams, three apps, all kinds of keys and a device in each
/// environment.
struct ProviderSituation: Sendable {
    static let bundleID = "com.example.app"
    /// Another app of the same team.
    static let secondBundleID = "com.example.second"
    /// An app of the other team.
    static let otherBundleID = "com.example.theirs"

    let service: TestService
    let provider: Provider
    let otherTeam: Provider
    let revoked: Provider
    /// A key for the second app only.
    let restricted: Provider
    /// Keys for one environment only.
    let limited: [Environment: Provider]
    /// The device token of the first app, in each environment.
    let tokens: [Environment: String]
    /// A device token that is no longer valid, in each environment.
    let endedTokens: [Environment: String]

    @TaskLocal static var prepared: ProviderSituation?

    static var current: ProviderSituation {
        get throws { try required(prepared) }
    }

    static func prepare(_ service: TestService) async throws -> ProviderSituation {
        let key = try required(service.description.key)
        let provider = try Provider(teamID: key.teamID, keyID: key.keyID, keyFile: key.path)
        let team: ManagementMessages.TeamMade = try await service.administer(
            "POST", "/v1/teams", ManagementMessages.NewTeam(name: "Theirs"))
        try await service.createApp(secondBundleID)
        try await service.createApp(otherBundleID, of: team.teamID)
        let revoked = try await service.createKey(of: provider.teamID)
        let _: ManagementMessages.KeyRevoked = try await service.administer("DELETE", "/v1/keys/\(revoked.keyID)")
        var limited: [Environment: Provider] = [:]
        var (tokens, endedTokens): ([Environment: String], [Environment: String]) = ([:], [:])
        for environment in Environment.allCases {
            limited[environment] = try await service.createKey(of: provider.teamID, environment: environment)
            tokens[environment] = try await service.in(environment).makeDeviceToken()
            endedTokens[environment] = try await service.in(environment).makeDeviceToken(isGone: true)
        }
        return ProviderSituation(
            service: service, provider: provider,
            otherTeam: try await service.createKey(of: team.teamID),
            revoked: revoked,
            restricted: try await service.createKey(of: provider.teamID, bundleIDs: [secondBundleID]),
            limited: limited, tokens: tokens, endedTokens: endedTokens)
    }

    func token(_ environment: Environment) throws -> String { try required(tokens[environment]) }

    /// A valid request.
    func push(_ environment: Environment) throws -> WirePush {
        try WirePush(token: try token(environment), topic: Self.bundleID, from: provider)
    }

    func connect(_ environment: Environment = .development) async throws -> WireClient {
        try await service.in(environment).connectProvider()
    }

    /// Sends a request on a connection of its own.
    func send(_ push: WirePush, to environment: Environment = .development) async throws -> WireClient.Answer {
        let client = try await connect(environment)
        let answer = try await client.send(push)
        await client.close()
        return answer
    }
}

/// Makes the situation once for a suite: `@Suite(.gateway)`.
struct GatewayTrait: SuiteTrait, TestScoping {
    func provideScope(
        for test: Test,
        testCase: Test.Case?,
        performing function: @concurrent @Sendable () async throws -> Void,
    ) async throws {
        try await TestService.run {
            // These tests send many requests to one device token, each on a new connection.
            $0.delivery.requestsPerDeviceToken.perSecond = 0
            $0.provider.perAddress.connects.perSecond = 0
        } _: { service in
            let situation = try await ProviderSituation.prepare(service)
            try await ProviderSituation.$prepared.withValue(situation) { try await function() }
        }
    }
}

extension Trait where Self == GatewayTrait {
    static var gateway: Self { GatewayTrait() }
}
