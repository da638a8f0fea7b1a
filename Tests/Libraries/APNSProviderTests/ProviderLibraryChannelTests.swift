import Delivery
import Foundation
import Notifications
import Service
import Testing

@testable import APNSProvider
@testable import ServiceTesting

/// Broadcast channels with the provider library, against a whole service.
@Suite(.timeLimit(.minutes(2))) struct ProviderLibraryChannelTests {
    private static func credentials(_ test: TestService) throws -> ProviderCredentials {
        let key = try required(test.description.key)
        return try ProviderCredentials(keyFile: key.path, keyID: key.keyID, teamID: key.teamID)
    }

    private static func environment(_ test: TestService, _ port: Int) throws -> APNSEnvironment {
        try .custom(url: "https://127.0.0.1:\(port)", authority: .file(test.description.ca))
    }

    private static func configuration() -> ProviderClient.Configuration {
        var configuration = ProviderClient.Configuration()
        configuration.tokenStore = InMemoryProviderTokenStore()
        return configuration
    }

    private static func run(
        certificate: Bool = false, conformance: Conformance = .apple,
        _ body: (TestService, ChannelManager, ProviderClient) async throws -> Void,
    ) async throws {
        try await TestService.run {
            $0.store = .memory
            $0.conformance = conformance
            $0.channels.channelsPerApp = 3
        } _: { test in
            var credentials = try Self.credentials(test)
            if certificate {
                let made = try await test.makeCertificate()
                credentials = try ProviderCredentials(certificate: made.chainPEM, key: made.keyPEM)
            }
            let manager = try ChannelManager(
                credentials: credentials, environment: environment(test, test.port(\.channels)),
                configuration: configuration())
            try await ProviderClient.withClient(
                credentials: credentials, environment: environment(test, test.port(\.provider)),
                configuration: configuration()
            ) { try await body(test, manager, $0) }
            await manager.shutDown()
        }
    }

    @Test(arguments: [false, true])
    func `Channels are created, read, listed and deleted`(certificate: Bool) async throws {
        try await Self.run(certificate: certificate) { test, manager, _ in
            var ids: [String] = []
            for policy in ChannelManager.StoragePolicy.allCases {
                let id = try await manager.create(keeping: policy, for: test.bundleID)
                #expect(try await manager.policy(of: id, of: test.bundleID) == policy)
                ids.append(id)
            }
            #expect(try await manager.list(of: test.bundleID).sorted() == ids.sorted())
            try await manager.delete(ids[0], of: test.bundleID)
            #expect(try await manager.list(of: test.bundleID) == [ids[1]])
            let error = await #expect(throws: ProviderError.self) {
                try await manager.delete(ids[0], of: test.bundleID)
            }
            #expect(error?.rejection?.reason == .channelNotRegistered)
            #expect(error?.rejection?.advice == .fixRequest)
        }
    }

    @Test func `The refusals have their reasons`() async throws {
        try await Self.run { test, manager, client in
            for _ in 0..<3 { _ = try await manager.create(keeping: .nothing, for: test.bundleID) }
            let full = await #expect(throws: ProviderError.self) {
                try await manager.create(keeping: .nothing, for: test.bundleID)
            }
            #expect(full?.rejection?.reason == .cannotCreateChannelConfig)
            let other = await #expect(throws: ProviderError.self) { try await manager.list(of: "com.example.other") }
            #expect(other?.rejection?.reason == .topicMismatch)
            let bad = await #expect(throws: ProviderError.self) { try await manager.list(of: "a/b c") }
            #expect(bad?.code == .badNotification)
            let broadcast = try BroadcastNotification(
                APS(liveActivity: APS.LiveActivity(event: .update, timestamp: Date(), contentState: ["a": 1])))
            let unknown = await #expect(throws: ProviderError.self) {
                try await client.broadcast(broadcast, to: ChannelHeaders.unknown, of: test.bundleID)
            }
            #expect(unknown?.rejection?.reason == .channelNotRegistered)
            let badID = await #expect(throws: ProviderError.self) {
                try await client.broadcast(broadcast, to: "none!", of: test.bundleID)
            }
            #expect(badID?.rejection?.reason == .badChannelID)
        }
    }

    @Test func `A broadcast reaches a subscriber, and its receipt has the identifier`() async throws {
        try await Self.run { test, manager, client in
            let channel = try await manager.create(keeping: .newest, for: test.bundleID)
            let device = try await test.connectRegistered().client
            let stream = try await device.listen()
            #expect(try await device.subscribe(to: channel).status == 204)
            try await test.waitForSubscribers(1, of: channel)
            let id = UUID()
            let activity = APS.LiveActivity(
                event: .update, timestamp: Date(timeIntervalSince1970: 100), contentState: ["score": 3])
            let receipt = try await client.broadcast(
                BroadcastNotification(
                    APS(relevanceScore: 75, liveActivity: activity), id: id,
                    expiration: .at(Date(timeIntervalSinceNow: 3600)), priority: .considerate),
                to: channel, of: test.bundleID)
            #expect(receipt.apnsID == id.uuidString.lowercased())
            #expect(receipt.uniqueID == id.uuidString.lowercased())
            let line = try required(await stream.nextLine())
            #expect(line.contains(#""channel":"\#(channel)""#))
            #expect(line.contains(#""priority":5"#))
            #expect(line.contains(#""relevance-score":75"#))
            await device.close()
        }
    }

    @Test func `A broadcast has an expiration and a priority by default, as strict requires`() async throws {
        try await Self.run(conformance: .strict) { test, manager, client in
            let channel = try await manager.create(keeping: .nothing, for: test.bundleID)
            let aps = APS(liveActivity: APS.LiveActivity(event: .update, timestamp: Date(), contentState: ["a": 1]))
            try await client.broadcast(BroadcastNotification(aps), to: channel, of: test.bundleID)
            let error = await #expect(throws: ProviderError.self) {
                try await client.broadcast(
                    BroadcastNotification(aps, expiration: .unspecified), to: channel, of: test.bundleID)
            }
            #expect(error?.rejection?.reason == .badExpirationDate)
        }
    }

    @Test func `A payload that is too large for a broadcast is not sent`() throws {
        let state = String(repeating: "x", count: 5120)
        let error = #expect(throws: ProviderError.self) {
            try BroadcastNotification(
                APS(liveActivity: APS.LiveActivity(event: .update, timestamp: Date(), contentState: ["a": state])))
        }
        #expect(error?.code == .badNotification)
    }
}
