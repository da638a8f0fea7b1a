import APNSDevice
import Delivery
import Foundation
import NIOCore
import ProviderAPI
import Rates
import Management
import Service
import Testing

@testable import APNSProvider
@testable import ServiceTesting

/// The provider library, tested with the whole service.
@Suite(.timeLimit(.minutes(2))) struct ProviderLibraryTests {
    /// Calls `body` with a client that has the development team's key.
    private func withClient(
        _ test: TestService,
        _ change: (inout ProviderClient.Configuration) -> Void = { _ in },
        credentials: ProviderCredentials? = nil,
        _ body: (ProviderClient, DeviceToken) async throws -> Void,
    ) async throws {
        let key = try required(test.description.key)
        var configuration = ProviderClient.Configuration()
        configuration.tokenStore = InMemoryProviderTokenStore()
        change(&configuration)
        let token = try required(DeviceToken(try await test.makeDeviceToken()))
        try await ProviderClient.withClient(
            credentials: credentials
                ?? ProviderCredentials(keyFile: key.path, keyID: key.keyID, teamID: key.teamID),
            environment: .custom(
                url: "https://127.0.0.1:\(test.port(\.provider))", authority: .file(test.description.ca)),
            configuration: configuration
        ) { try await body($0, token) }
    }

    private func notification(_ test: TestService, id: UUID? = nil) throws -> PushNotification {
        try PushNotification(topic: test.bundleID, APS(alert: "Hello"), id: id)
    }

    private struct Pushes: AsyncSequence, Sendable {
        let push: Push
        let count: Int

        struct AsyncIterator: AsyncIteratorProtocol {
            let push: Push
            var left: Int
            mutating func next() async -> Push? {
                guard left > 0 else { return nil }
                left -= 1
                return push
            }
        }

        func makeAsyncIterator() -> AsyncIterator { AsyncIterator(push: push, left: count) }
    }

    @Test func `The result has the notification's identifier`() async throws {
        try await TestService.run { test in
            try await withClient(test) { client, token in
                let id = UUID()
                let receipt = try await client.send(try notification(test, id: id), to: token)
                #expect(receipt.apnsID == id.uuidString.lowercased())
            }
        }
    }

    @Test func `A thousand notifications at once are all accepted, with one provider token`() async throws {
        try await TestService.run {
            $0.delivery.requestsPerDeviceToken = Rate.unlimited
        } _: { test in
            try await withClient(test) { client, token in
                let outcomes = client.send(Pushes(push: Push(try notification(test), to: token), count: 1_000))
                for await outcome in outcomes { #expect(outcome.isAccepted) }
                #expect(outcomes.progress.accepted == 1_000)
            }
        }
    }

    @Test func `After TooManyRequests the library waits and sends again`() async throws {
        try await TestService.run {
            $0.delivery.requestsPerDeviceToken = Rate(burst: 2, perSecond: 5)
        } _: { test in
            try await withClient(test) { client, token in
                let outcomes = client.send(Pushes(push: Push(try notification(test), to: token), count: 5))
                for await outcome in outcomes { #expect(outcome.isAccepted) }
            }
        }
    }

    @Test func `An unknown device token is rejected, with advice`() async throws {
        try await TestService.run { test in
            try await withClient(test) { client, _ in
                let (notification, token) = (try notification(test), try required(DeviceToken("00")))
                let error = await #expect(throws: ProviderError.self) {
                    try await client.send(notification, to: token)
                }
                #expect(error?.rejection?.reason == .badDeviceToken)
                #expect(error?.rejection?.advice == .forgetDeviceToken)
            }
        }
    }

    @Test func `After its app was deleted a device token is removed from the record`() async throws {
        try await TestService.run { test in
            let identity = try await APNSDevice.DeviceIdentity.activate(
                at: test.courier, environment: test.environment)
            let device = try Device(identity, at: test.courier, delegate: Nobody())
            let token = try required(DeviceToken(try await device.register(test.bundleID)))
            let store = InMemoryDeviceTokens()
            await store.register(token, topic: test.bundleID)
            _ = try await device.unregister(test.bundleID)
            await device.close()
            try await withClient(test, { $0.deviceTokens = store }) { client, _ in
                let notification = try notification(test)
                let error = await #expect(throws: ProviderError.self) {
                    try await client.send(notification, to: token)
                }
                #expect(error?.rejection?.reason == .unregistered)
                #expect(error?.rejection?.timestamp != nil)
                let left = await store.deviceTokens(for: test.bundleID)
                #expect(left.isEmpty)
            }
        }
    }

    @Test func `With a certificate no provider tokens are needed`() async throws {
        try await TestService.run { test in
            let certificate = try await test.makeCertificate()
            let credentials = try ProviderCredentials(certificate: certificate.chainPEM, key: certificate.keyPEM)
            try await withClient(test, credentials: credentials) { client, token in
                let outcomes = client.send(Pushes(push: Push(try notification(test), to: token), count: 50))
                for await outcome in outcomes { #expect(outcome.isAccepted) }
            }
        }
    }

    @Test func `A revoked key is rejected, and a certificate can replace it`() async throws {
        try await TestService.run { test in
            let certificate = try await test.makeCertificate()
            try await withClient(test) { client, token in
                let notification = try notification(test)
                try await client.send(notification, to: token)
                let _: ManagementMessages.KeyMade = try await test.administer(
                    "DELETE", "/v1/keys/\(try required(test.description.key).keyID)")
                let error = await #expect(throws: ProviderError.self) {
                    try await client.send(notification, to: token)
                }
                #expect(error?.rejection?.reason == .invalidProviderToken)
                #expect(error?.rejection?.advice == .fixCredentials)
                try await client.replaceCredentials(
                    with: ProviderCredentials(certificate: certificate.chainPEM, key: certificate.keyPEM))
                try await client.send(notification, to: token)
            }
        }
    }

    @Test func `A connection that the service ends because it is idle is replaced`() async throws {
        try await TestService.run {
            $0.provider.idleTimeout = .milliseconds(50)
        } _: { test in
            try await withClient(test) { client, token in
                let notification = try notification(test)
                for _ in 0..<3 { try await client.send(notification, to: token) }
            }
        }
    }
}
