import AsyncHTTPClient
import CarillonTesting
import NIOCore
import NIOHTTP1
import NIOSSL
import Testing

/// A server that sends messages of Web Push without encryption.
@Suite(.timeLimit(.minutes(1)))
struct TestSubscriptionTests {
    private func send(_ text: String, to endpoint: String, trusting authority: String) async throws -> UInt {
        var tls = TLSConfiguration.makeClientConfiguration()
        tls.trustRoots = .certificates(try NIOSSLCertificate.fromPEMBytes(Array(authority.utf8)))
        let client = HTTPClient(
            eventLoopGroupProvider: .singleton, configuration: HTTPClient.Configuration(tlsConfiguration: tls))
        var request = HTTPClientRequest(url: endpoint)
        request.method = .POST
        request.headers.add(name: "TTL", value: "60")
        request.body = .bytes(Array(text.utf8))
        do {
            let status = try await client.execute(request, deadline: .now() + .seconds(30)).status.code
            try await client.shutdown()
            return status
        } catch {
            try? await client.shutdown()
            throw error
        }
    }

    @Test(.apns) func `A test reads what was sent to a subscription`() async throws {
        let apns = try await TestAPNs.team()
        let subscription = try await apns.webPush(.offline, subscription: "alice@example.com", acceptsPlain: true)
        #expect(subscription.p256dh.count == 87 && subscription.auth.count == 22)
        #expect(subscription.privateKey.count == 43)
        let authority = apns.authorityPEM
        #expect(try await send("hello", to: subscription.endpoint, trusting: authority) == 201)
        let stored = try await apns.wait(for: RequestPattern(outcome: .stored, subscription: "alice@example.com"))
        #expect(stored.map(\.text) == ["hello"] && stored.map(\.bytes) == [5])
        try await subscription.device.behave(.online)
        try await apns.wait(for: RequestPattern(outcome: .delivered, text: "hello"))
        try await apns.rehearse(RehearsalRule(.answer(reason: "TooManyRequests"), when: .first(1)))
        #expect(try await send("busy", to: subscription.endpoint, trusting: authority) == 429)
    }

    @Test(.apns) func `A subscription is not plain by itself`() async throws {
        let subscription = try await TestAPNs.team().webPush()
        let authority = try TestAPNs.current.authorityPEM
        #expect(try await send("x", to: subscription.endpoint, trusting: authority) == 415)
    }
}
