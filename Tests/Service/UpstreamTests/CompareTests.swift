import Foundation
import Management
import ProviderTesting
import Service
import Testing

@testable import ServiceTesting

/// Upstreams whose answers are compared with this service's.
@Suite(.timeLimit(.minutes(5))) struct CompareTests {
    private func run(
        script: @escaping ScriptedServer.Script = { $1.answer($0.stream) },
        _ body: (GatewayRig) async throws -> Void,
    ) async throws {
        try await GatewayRig.run(
            script: script, settings: { $0.journal = 100 }, set: { $0.compare = true }, body)
    }

    @Test func `What is refused here for its form is forwarded as it came`() async throws {
        try await run { rig async throws in
            let large = #"{"aps":{"alert":"\#(String(repeating: "x", count: 5000))"}}"#
            for (name, value) in [("apns-priority", "7"), ("apns-expiration", "soon"), ("apns-push-type", "new")] {
                #expect(try await rig.send({ $0 = $0.with(name, value) }).status == 200)
                #expect(rig.upstream.log.requests.last?.headers[name] == value)
            }
            #expect(try await rig.send(body: large).status == 200)
            #expect(rig.upstream.log.requests.last?.body == large)
            #expect(try await rig.send(body: "[]").status == 200)
            #expect(rig.upstream.log.requests.count == 5)
        }
    }

    @Test func `Trust binds always, and so does the limit of a body`() async throws {
        try await run { rig async throws in
            #expect(try await rig.send({ $0 = $0.with("authorization", nil) }).reason == "MissingProviderToken")
            let huge = #"{"aps":{"alert":"\#(String(repeating: "x", count: 20_000))"}}"#
            #expect(try await rig.send(body: huge).reason == "PayloadTooLarge")
            #expect(rig.upstream.log.requests.isEmpty)
        }
    }

    @Test func `The log and the report have the answers that differ`() async throws {
        try await run(script: { request, connection in
            switch request.headers["apns-priority"] {
            case "7": connection.answer(request.stream)
            case "8": connection.answer(request.stream, status: 400, reason: "BadPriority")
            case "5": connection.answer(request.stream, status: 400, reason: "BadTopic")
            default: connection.answer(request.stream, status: 400, reason: "BadDeviceToken")
            }
        }) { rig async throws in
            let id = UUID().uuidString.lowercased()
            #expect(try await rig.send({ $0 = $0.with("apns-priority", "7").with("apns-id", id) }).status == 200)
            #expect(try await rig.send({ $0 = $0.with("apns-priority", "8") }).reason == "BadPriority")
            #expect(try await rig.send({ $0 = $0.with("apns-priority", "5") }).reason == "BadTopic")
            // Only the upstream knows its device tokens.
            #expect(try await rig.send({ $0 = $0.with("apns-priority", "10") }).reason == "BadDeviceToken")
            let answered = try #require(try await rig.events(of: id, count: 2).last)
            #expect((answered["status"] as? Int, answered["own"] as? String) == (200, "BadPriority"))
            let report = try await rig.gateway.ask("GET", "/v1/reports").text
            #expect(report.contains("upstream-differs"))
            #expect(
                report.contains("answered accepted to 1 requests, and this service would have answered BadPriority"))
            #expect(report.contains("answered BadTopic to 1 requests, and this service would have answered accepted"))
            #expect(!report.contains("BadDeviceToken"))
        }
    }

    // MARK: Grants

    private func send(
        _ rig: GatewayRig,
        _ instance: TestInstance,
        _ change: (inout WirePush) -> Void,
    ) async throws -> WireClient.Answer {
        let handle = try await rig.gateway.makeHandle(GatewayRig.token, instance.clientKey)
        var push = WirePush(token: handle, topic: rig.gateway.bundleID, authorization: try instance.token())
        change(&push)
        let client = try await rig.gateway.connectProvider()
        let answer = try await client.send(push)
        await client.close()
        return answer
    }

    @Test func `What a grant sends is forwarded as it came, to the device token`() async throws {
        try await run { rig async throws in
            let instance = try await rig.gateway.makeGrant()
            for (name, value) in [("apns-priority", "7"), ("apns-expiration", "soon"), ("apns-push-type", "new")] {
                #expect(try await send(rig, instance) { $0[name] = value }.status == 200)
                #expect(rig.upstream.log.requests.last?.headers[name] == value)
                #expect(rig.upstream.log.requests.last?.path == "/3/device/\(GatewayRig.token)")
            }
            let large = #"{"aps":{"alert":"\#(String(repeating: "x", count: 5000))"}}"#
            for payload in [large, "[]"] {
                #expect(try await send(rig, instance) { $0.payload(payload) }.status == 200)
                #expect(rig.upstream.log.requests.last?.body == payload)
            }
            #expect(rig.upstream.log.requests.count == 5)
        }
    }

    @Test func `The limits of a grant bind always`() async throws {
        try await run { rig async throws in
            let instance = try await rig.gateway.makeGrant {
                ($0.priorities, $0.pushTypes, $0.payloadBytes, $0.encryptedOnly) = ([5, 10], ["alert"], 100, true)
            }
            let sealed = #"{"aps":{"mutable-content":1},"data":"c2VjcmV0"}"#
            let refused: [((inout WirePush) -> Void, String)] = [
                ({ $0["apns-priority"] = "7" }, "BadPriority"), ({ $0["apns-priority"] = "1" }, "BadPriority"),
                ({ $0["apns-push-type"] = "new" }, "InvalidPushType"), ({ $0.payload("[]") }, "PayloadEmpty"),
                ({ $0.payload(#"{"aps":{"alert":"Hello"}}"#) }, "PayloadEmpty"),
                ({ $0.payload("[" + String(repeating: " ", count: 5000) + "]") }, "PayloadTooLarge"),
                ({ $0["apns-topic"] = "com.example.other" }, "TopicDisallowed"),
                // What is not valid would be forwarded as it came, so it must not be a message either.
                ({ $0["apns-collapse-id"] = String(repeating: "a", count: 65) }, "BadCollapseId"),
                ({ $0["apns-collapse-id"] = "Bob says hello" }, "BadCollapseId"),
                ({ $0["apns-id"] = "Bob says hello" }, "BadMessageId"),
                ({ $0["apns-expiration"] = "Bob says hello" }, "BadExpirationDate"),
            ]
            for (change, reason) in refused {
                let answer = try await send(rig, instance) {
                    $0["apns-push-type"] = "alert"
                    $0.payload(sealed)
                    change(&$0)
                }
                #expect(answer.reason == reason, "\(answer.body)")
            }
            #expect(rig.upstream.log.requests.isEmpty)
            // The limits allow this one, whose form Carillon would refuse.
            let allowed = try await send(rig, instance) {
                $0["apns-push-type"] = "alert"
                $0["apns-expiration"] = "soon"
                $0.payload(sealed)
            }
            #expect(allowed.status == 200, "\(allowed.body)")
        }
    }
}
