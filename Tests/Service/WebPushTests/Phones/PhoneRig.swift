import AsyncHTTPClient
import CommonTesting
import Crypto
import Delivery
import Foundation
import Management
import NIOHTTP1
import Notifications
import ProviderTesting
import Service
import Testing

@testable import ServiceTesting

/// A service with Web Push that forwards an app's notifications to an upstream, and a grant whose endpoints are for everybody's
/// servers.
struct PhoneRig: Sendable {
    let pushed: PushedService
    let upstream: ScriptedServer
    let grant: String
    let clientKey: String

    var test: TestService { pushed.test }

    /// A device token of the upstream.
    static let token = String(repeating: "5a", count: 32)

    /// - Parameter limit: changes the limits of the grant.
    static func run(
        isHTTP2: Bool = true,
        plain: Bool = false,
        script: @escaping ScriptedServer.Script = { request, connection in connection.answer(request.stream) },
        limit: (inout ManagementMessages.GrantBounds) -> Void = { _ in },
        settings change: (inout Settings) throws -> Void = { _ in },
        _ body: (PhoneRig) async throws -> Void,
    ) async throws {
        try await ScriptedServer.run(script: script) { upstream in
            try await PushedService.run(isHTTP2: isHTTP2, plain: plain, change) { pushed in
                try await setUpstream(pushed.test, port: upstream.port)
                var grant = ManagementMessages.NewGrant(bundleID: pushed.test.bundleID, name: "phones", webPush: true)
                limit(&grant.limits)
                let made: ManagementMessages.GrantMade = try await pushed.test.administer("POST", "/v1/grants", grant)
                try await body(
                    PhoneRig(pushed: pushed, upstream: upstream, grant: made.grant, clientKey: made.clientKey))
            }
        }
    }

    static func setUpstream(_ test: TestService, port: Int) async throws {
        let document = ManagementMessages.NewUpstream(
            url: "https://127.0.0.1:\(port)", authority: try TestAuthority.rootPEM(),
            credentials: .init(
                kind: "key", teamID: "PUBLISHER1", keyID: "GATEWAY001",
                privateKey: P256.Signing.PrivateKey().pemRepresentation))
        let _: ManagementMessages.Upstream = try await test.administer(
            "PUT", "/v1/apps/\(test.bundleID)/upstreams/development", document)
    }

    /// The body of a request for a handle.
    /// - Parameter webPush: the member `webPush`; nil for none.
    func wish(_ webPush: String?, token: String = token, bundleID: String? = nil) -> String {
        let more = webPush.map { #","webPush":\#($0)"# } ?? ""
        return
            #"{"bundleID":"\#(bundleID ?? test.bundleID)","environment":"development","token":"\#(token)"\#(more)}"#
    }

    struct Made: Decodable {
        let handle: String
        let endpoint: String
    }

    /// Makes an endpoint on the provider API's port.
    func make(_ name: String = "mastodon", vapid: String? = nil, token: String = token) async throws -> Made {
        let key = vapid.map { #","vapid":"\#($0)""# } ?? ""
        let answer = try await test.askGateway(
            "POST", "/1/handles", clientKey: clientKey, body: wish(#"{"name":"\#(name)"\#(key)}"#, token: token))
        guard answer.status == 200 else { throw TestService.Refusal(status: answer.status, body: answer.body) }
        return try JSONDecoder().decode(Made.self, from: Data(answer.body.utf8))
    }

    func remove(_ handle: String, _ name: String) async throws -> Int {
        try await test.askGateway(
            "DELETE", "/1/handles/\(handle)/subscriptions/\(name)", clientKey: clientKey
        ).status
    }

    /// What the upstream got.
    var requests: [ScriptedRequest] { upstream.log.requests }
}
