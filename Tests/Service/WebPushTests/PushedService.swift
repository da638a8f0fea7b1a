import AsyncHTTPClient
import CommonTesting
import Crypto
import Delivery
import Foundation
import HTTPAPI
import NIOCore
import NIOHTTP1
import NIOSSL
import Notifications
import Service
import Synchronization
import Testing
import Trust
import WebPush

@testable import ServiceTesting

/// A service with Web Push, and a subscription of an app on a device that is offline.
struct PushedService: Sendable {
    let test: TestService
    let store: any Store
    let subscription: WebPushSubscription
    let endpoint: EndpointID
    /// Where the service listens, which is the origin of its endpoints.
    let origin: String
    let client: HTTPClient

    static func run(
        isHTTP2: Bool = true,
        plain: Bool = false,
        _ change: (inout Settings) throws -> Void = { _ in },
        _ body: (PushedService) async throws -> Void,
    ) async throws {
        let kept = Mutex<(any Store)?>(nil)
        try await TestService.runWrapping { store in
            kept.withLock { $0 = store }
            return store
        } _: {
            do {
                if plain { try $0.setWebPushPlain("127.0.0.1:0") } else { try $0.setWebPush("127.0.0.1:0") }
                try change(&$0)
            } catch {
                Issue.record(error)
            }
        } _: { test in
            let store = try required(kept.withLock(\.self))
            let origin = try required(test.description.development?.webPush)
            var tls = TLSConfiguration.makeClientConfiguration()
            tls.trustRoots = .file(test.description.ca)
            var configuration = HTTPClient.Configuration(tlsConfiguration: tls, redirectConfiguration: .disallow)
            configuration.httpVersion = isHTTP2 ? .automatic : .http1Only
            let client = HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
            try await withCleanUp {
                let (subscription, endpoint) = try await subscribe(store, test.bundleID)
                try await body(
                    PushedService(
                        test: test, store: store, subscription: subscription, endpoint: endpoint, origin: origin,
                        client: client))
            } cleanUp: {
                try? await client.shutdown()
            }
        }
    }

    /// Registers the app on a new device, and makes a subscription of it.
    static func subscribe(
        _ store: any Store, _ bundleID: String, environment: Notifications.Environment = .development,
        vapid: [UInt8]? = nil, isPlain: Bool = false,
    ) async throws -> (WebPushSubscription, EndpointID) {
        let app = try required(store.current.apps.values.first { $0.bundleID.rawValue == bundleID })
        let destination = Destination(
            environment: environment, device: DeviceID(rawValue: .random(in: 1...(.max))), app: app.id)
        let registration = try await store.register(destination, tokenKeyID: 1, at: .now())
        let endpoint = try required(EndpointID((0..<32).map { _ in .random(in: 0...255) }))
        let subscription = try await store.subscribe(
            WebPushSubscription(
                destination: Destination(
                    environment: environment, device: destination.device, app: app.id, queue: .random(in: 1...(.max))),
                name: "an account", seed: EndpointKey.makeSeed(), digest: EndpointKey.digest(of: endpoint),
                vapid: vapid, isPlain: isPlain, generation: registration.generation),
            limit: WebPushSubscription.maximumCount)
        return (subscription, endpoint)
    }

    struct Answer: Sendable {
        var status: UInt
        var headers: HTTPHeaders
        var body: String
        var version: HTTPVersion

        subscript(_ name: String) -> String? { headers.first(name: name) }
    }

    static let fields = [("TTL", "60"), ("Content-Encoding", "aes128gcm")]

    /// Sends a request.
    /// - Parameter at: a URL, or a path of the origin; nil for the endpoint.
    func send(
        _ method: HTTPMethod = .POST,
        at place: String? = nil,
        fields: [(String, String)] = PushedService.fields,
        body: [UInt8] = [1, 2, 3],
    ) async throws -> Answer {
        let url = place.map { $0.hasPrefix("http") ? $0 : origin + $0 } ?? endpoint.url(at: origin)
        var request = HTTPClientRequest(url: url)
        request.method = method
        for (name, value) in fields { request.headers.add(name: name, value: value) }
        if method == .POST { request.body = .bytes(body) }
        let response = try await client.execute(request, deadline: .now() + .seconds(60))
        let text = try await String(buffer: response.body.collect(upTo: 1 << 20))
        return Answer(
            status: response.status.code, headers: response.headers, body: text, version: response.version)
    }

    /// A valid token of an application server for this service.
    func authorization(_ server: VAPIDFixture, _ changes: [String: String?] = [:]) throws -> (String, String) {
        let now = Date().timeIntervalSince1970
        return ("Authorization", try server.authorization(VAPIDFixture.claims(changes, origin: origin, now: now)))
    }

    /// What waits for the device.
    func waiting(_ subscription: WebPushSubscription? = nil) async throws -> [StoredMailboxEntry] {
        try await store.entries(of: (subscription ?? self.subscription).destination.deviceKey)
    }
}
