import Foundation
import Management
import ProviderTesting
import Service
import Synchronization
import Testing

@testable import ServiceTesting

/// What a grant is told if the upstream refuses the gateway's own key or certificate.
@Suite(.timeLimit(.minutes(5))) struct GatewayTroubleTests {
    /// The refusal that the management API shows of the app's upstream.
    private static func shown(_ rig: GatewayRig) async throws -> ManagementMessages.UpstreamRefusal? {
        let path = "/v1/apps/\(rig.gateway.bundleID)/upstreams/development"
        let upstream: ManagementMessages.Upstream = try await rig.gateway.administer("GET", path)
        let apps = try await rig.gateway.ask("GET", "/v1/apps").text
        #expect(apps.contains("refused") == (upstream.refused != nil), "\(apps)")
        return upstream.refused
    }

    private static func push(
        _ rig: GatewayRig, _ instance: TestInstance, _ handle: String, id: String = UUID().uuidString.lowercased(),
    ) throws -> WirePush {
        var push = WirePush(token: handle, topic: rig.gateway.bundleID, authorization: try instance.token())
        push["apns-id"] = id
        return push
    }

    @Test(arguments: [
        "InvalidProviderToken", "ExpiredProviderToken", "MissingProviderToken", "BadCertificate",
        "BadCertificateEnvironment", "BadEnvironmentKeyIdInToken",
    ])
    func `A grant gets 503 with a detail, and a team's client the upstream's answer`(_ reason: String) async throws {
        try await GatewayRig.run(script: { $1.answer($0.stream, status: 403, reason: reason) }) { rig in
            let instance = try await rig.gateway.makeGrant()
            let handle = try await rig.gateway.makeHandle(GatewayRig.token, instance.clientKey)
            let client = try await rig.gateway.connectProvider()
            let answer = try await client.send(try Self.push(rig, instance, handle))
            await client.close()
            #expect((answer.status, answer.reason) == (503, "ServiceUnavailable"))
            #expect(answer.body.contains(reason) && answer.body.contains("detail"), "\(answer.body)")
            #expect(try await rig.gateway.grant(instance.grant).sent == ["ServiceUnavailable": 1])
            // After ExpiredProviderToken the gateway makes no other provider token for a while. The answer is the same.
            for _ in 0..<2 {
                let own = try await rig.send()
                #expect((own.status, own.reason) == (403, reason))
            }
        }
    }

    @Test(arguments: [(403, "Forbidden"), (400, "TopicDisallowed"), (429, "TooManyProviderTokenUpdates")])
    func `Other answers are the grant's too`(_ status: Int, _ reason: String) async throws {
        try await GatewayRig.run(script: { $1.answer($0.stream, status: status, reason: reason) }) { rig in
            let instance = try await rig.gateway.makeGrant()
            let handle = try await rig.gateway.makeHandle(GatewayRig.token, instance.clientKey)
            let client = try await rig.gateway.connectProvider()
            let answer = try await client.send(try Self.push(rig, instance, handle))
            await client.close()
            #expect((answer.status, answer.reason) == (status, reason))
        }
    }

    @Test func `The management API and the metrics say so until the upstream accepts the key again`() async throws {
        let isRefused = Atomic(true)
        try await GatewayRig.run(script: { request, connection in
            isRefused.load(ordering: .relaxed)
                ? connection.answer(request.stream, status: 403, reason: "InvalidProviderToken")
                : connection.answer(request.stream)
        }) { rig in
            let metric =
                #"carillon_upstream_credentials_refused{app="\#(rig.gateway.bundleID)",environment="development"} "#
            for _ in 0..<2 {
                #expect(try await rig.send().status == 403)
            }
            let shown = try await Self.shown(rig)
            #expect(shown?.reason == "InvalidProviderToken")
            #expect(try await rig.gateway.ask("GET", "/metrics").text.contains(metric + "1"))
            isRefused.store(false, ordering: .relaxed)
            #expect(try await rig.send().status == 200)
            #expect(try await Self.shown(rig) == nil)
            #expect(try await rig.gateway.ask("GET", "/metrics").text.contains(metric + "0"))
        }
    }

    @Test func `With other credentials the refusal is forgotten`() async throws {
        try await GatewayRig.run(script: { $1.answer($0.stream, status: 403, reason: "BadCertificate") }) { rig in
            #expect(try await rig.send().status == 403)
            let path = "/v1/apps/\(rig.gateway.bundleID)/upstreams/development"
            try await rig.gateway.setUpstream(
                .init(
                    url: "https://127.0.0.1:\(rig.upstream.port)", authority: try TestAuthority.rootPEM(),
                    credentials: try GatewayRig.ownKey("GATEWAY002")))
            let upstream: ManagementMessages.Upstream = try await rig.gateway.administer("GET", path)
            #expect(upstream.refused == nil)
        }
    }

    @Test func `A grant's notification is held meanwhile`() async throws {
        let isRefused = Atomic(true)
        try await GatewayRig.run(
            script: { request, connection in
                isRefused.load(ordering: .relaxed)
                    ? connection.answer(request.stream, status: 403, reason: "InvalidProviderToken")
                    : connection.answer(request.stream)
            }, settings: { $0.clock = .virtual }, set: { $0.hold = "PT2H" }
        ) { rig in
            let instance = try await rig.gateway.makeGrant()
            let handle = try await rig.gateway.makeHandle(GatewayRig.token, instance.clientKey)
            let client = try await rig.gateway.connectProvider()
            let id = UUID().uuidString.lowercased()
            #expect(try await client.send(try Self.push(rig, instance, handle, id: id)).status == 200)
            await client.close()
            isRefused.store(false, ordering: .relaxed)
            var events: [[String: Any]] = []
            repeat {
                // What was refused comes again after a few seconds.
                _ = try await rig.gateway.ask("POST", "/v1/clock", body: #"{"advance":"PT2M"}"#)
                events = try await rig.events(of: id, count: events.count + 1)
            } while events.last?["status"] as? Int != 200
            #expect(rig.upstream.log.requests.last?.headers["apns-id"] == id)
        }
    }
}
