import Foundation
import Notifications
import Testing

/// What tests of the provider API need: a service with two teams, three apps, all kinds of keys and a device in each
/// environment.
struct GatewaySituation: Sendable {
    static let bundleID = "com.example.app"
    /// Another app of the same team.
    static let secondBundleID = "com.example.second"
    /// An app of the other team.
    static let otherBundleID = "com.example.theirs"

    let service: CarillonProcess
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

    @TaskLocal static var prepared: GatewaySituation?

    static func prepare(_ service: CarillonProcess, in folder: String) async throws -> GatewaySituation {
        let provider = try service.developmentProvider
        try await service.createApp(secondBundleID, of: provider.teamID)
        let otherTeam = try await service.createProvider(keysIn: folder, bundleID: otherBundleID)
        let revoked = try await service.createKey(of: provider.teamID, in: folder)
        _ = try await service.carillon("key", "revoke", revoked.keyID)
        let restricted = try await service.createKey(
            of: provider.teamID, in: folder, bundleID: secondBundleID)
        var limited: [Environment: Provider] = [:]
        var (tokens, endedTokens): ([Environment: String], [Environment: String]) = ([:], [:])
        for environment in Environment.allCases {
            limited[environment] = try await service.createKey(
                of: provider.teamID, in: folder, environment: environment.rawValue)
            tokens[environment] = try await service.register(bundleID, on: try await service.activate(environment))
            let identity = try await service.activate(environment)
            endedTokens[environment] = try await service.register(bundleID, on: identity)
            _ = try await service.carillon(
                "device", "unregister", "--identity", identity, "--bundle-id", bundleID)
        }
        return GatewaySituation(
            service: service, provider: provider, otherTeam: otherTeam, revoked: revoked,
            restricted: restricted, limited: limited,
            tokens: tokens, endedTokens: endedTokens)
    }

    func token(_ environment: Environment) throws -> String { try tokens[environment].orThrow("no token") }

    /// A valid request.
    func push(_ environment: Environment) throws -> Push {
        try Push(token: try token(environment), topic: Self.bundleID, from: provider)
    }
}

/// Makes the situation once for a suite: `@Suite(.gateway)`.
struct GatewayTrait: SuiteTrait, TestScoping {
    func provideScope(
        for test: Test,
        testCase: Test.Case?,
        performing function: @concurrent @Sendable () async throws -> Void,
    ) async throws {
        try await withTemporaryFolder { folder in
            // These tests send many requests to one device token, each on a new connection.
            let environment = ["CARILLON_LIMIT_TOKEN_RATE": "0", "CARILLON_LIMIT_PROVIDER_CONNECT_RATE": "0"]
            try await CarillonProcess.with(data: folder + "/data", environment: environment) { service in
                let situation = try await GatewaySituation.prepare(service, in: folder + "/keys")
                try await GatewaySituation.$prepared.withValue(situation) { try await function() }
            }
        }
    }
}

extension Trait where Self == GatewayTrait {
    static var gateway: Self { GatewayTrait() }
}

extension GatewaySituation {
    static var current: GatewaySituation {
        get throws { try prepared.orThrow("the suite has no situation") }
    }
}
