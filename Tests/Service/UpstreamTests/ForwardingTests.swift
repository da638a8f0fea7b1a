import APNSProvider
import Foundation
import Management
import ProviderTesting
import Service
import Testing

@testable import ServiceTesting

/// Notifications that go on to an upstream (docs/gateway.md).
@Suite(.timeLimit(.minutes(5))) struct ForwardingTests {
    @Test func `The upstream gets the request as it came, with the gateway's own provider token`() async throws {
        try await GatewayRig.run { rig async throws in
            let id = "8B1E5B4A-9c0c-4d5e-8f00-0123456789ab"
            let body = #"{"aps" : {"alert":"Hello","badge":1}, "x":[1.50]}"#
            let token = String(repeating: "A5", count: 80)
            let answer = try await rig.send(
                {
                    $0 = $0.with(":path", "/3/device/\(token)").with("apns-id", id).with(
                        "apns-expiration", "4000000000"
                    )
                    .with("apns-priority", "5").with("apns-collapse-id", "c").with("apns-push-type", "alert")
                }, body: body)
            #expect(answer.status == 200)
            let request = try #require(rig.upstream.log.requests.first)
            #expect(request.path == "/3/device/\(token.lowercased())")
            #expect(request.body == body)
            for (name, value) in [
                ("apns-id", id), ("apns-expiration", "4000000000"), ("apns-priority", "5"), ("apns-collapse-id", "c"),
                ("apns-push-type", "alert"), ("apns-topic", "com.example.app"),
            ] {
                #expect(request.headers[name] == value)
            }
            #expect(request.headers["via"]?.hasPrefix("2 carillon-") == true)
            let claims = try #require(request.token.split(separator: ".").dropFirst().first)
            #expect(String(decoding: try #require(Self.bytes(of: claims)), as: UTF8.self).contains("PUBLISHER1"))
        }
    }

    private static func bytes(of base64URL: Substring) -> Data? {
        var text = String(base64URL).replacing("-", with: "+").replacing("_", with: "/")
        while !text.count.isMultiple(of: 4) { text += "=" }
        return Data(base64Encoded: text)
    }

    @Test func `The answer is the upstream's`() async throws {
        try await GatewayRig.run(script: { request, connection in
            switch request.headers["apns-collapse-id"] {
            case "gone":
                connection.answer(request.stream, status: 410, reason: "Unregistered", timestamp: 1_700_000_000_123)
            case "new": connection.answer(request.stream, status: 400, reason: "SomethingNew")
            case "bare": connection.answer(request.stream, status: 200, id: "not a UUID", body: nil)
            default: connection.answer(request.stream)
            }
        }) { rig async throws in
            let accepted = try await rig.send()
            #expect((accepted.status, accepted.body) == (200, ""))
            #expect(accepted["apns-id"] == "8b1e5b4a-9c0c-4d5e-8f00-0123456789ab")
            let gone = try await rig.send({ $0 = $0.with("apns-collapse-id", "gone") })
            #expect((gone.status, gone.body) == (410, #"{"reason":"Unregistered","timestamp":1700000000123}"#))
            let new = try await rig.send({ $0 = $0.with("apns-collapse-id", "new") })
            #expect((new.status, new.reason) == (400, "SomethingNew"))
            let id = "0b1e5b4a-9c0c-4d5e-8f00-0123456789ab"
            let bare = try await rig.send({ $0 = $0.with("apns-collapse-id", "bare").with("apns-id", id) })
            #expect((bare.status, bare["apns-id"]) == (200, id))
        }
    }

    @Test func `A rehearsal leaves a header of a forwarded answer out`() async throws {
        try await GatewayRig.run(script: { request, connection in
            connection.answer(request.stream, status: 200, uniqueID: UUID().uuidString, body: nil)
        }) { rig async throws in
            let rehearsal = #"{"rules":[{"when":{"first":1},"fault":{"omit":"apns-unique-id"}}]}"#
            #expect(try await rig.gateway.ask("POST", "/v1/rehearsals", body: rehearsal).status == 200)
            let answer = try await rig.send()
            #expect(answer.status == 200 && answer["apns-id"] != nil && answer["apns-unique-id"] == nil)
            #expect(try await rig.send()["apns-unique-id"] != nil)
        }
    }

    @Test(arguments: [(200, nil, "pending"), (410, "Unregistered", "rejected")])
    func `An answer of a rehearsal does not hide whether the upstream has accepted the notification`(
        _ status: Int, _ reason: String?, _ outcome: String
    ) async throws {
        try await GatewayRig.run(script: { request, connection in
            connection.answer(request.stream, status: status, reason: reason)
        }) { rig async throws in
            let rules = #"{"rules":[{"fault":{"answer":{"reason":"InternalServerError"},"accepted":true}}]}"#
            #expect(try await rig.gateway.ask("POST", "/v1/rehearsals", body: rules).status == 200)
            #expect(try await rig.send().status == 500)
            #expect(rig.upstream.log.requests.count == 1)
            let requests = try await rig.gateway.ask("GET", "/v1/requests").text
            #expect(
                requests.contains(#""status":500"#) && requests.contains(#""outcome":"\#(outcome)""#), "\(requests)")
        }
    }

    @Test func `A request that is wrong is refused here and never forwarded`() async throws {
        try await GatewayRig.run { rig async throws in
            for (reason, change) in [
                ("BadPriority", { $0 = $0.with("apns-priority", "7") }),
                ("InvalidProviderToken", { $0 = $0.with("authorization", "bearer none") }),
                ("TopicDisallowed", { $0 = $0.with("apns-push-type", "voip") }),
                ("BadDeviceToken", { $0 = $0.with(":path", "/3/device/5a5a") }),
                ("BadDeviceToken", { $0 = $0.with(":path", "/3/device/\(String(repeating: "5a", count: 201))") }),
                ("BadMessageId", { $0 = $0.with("apns-id", "none") }),
                ("BadPath", { $0 = $0.with(":path", "/3/devices/5a") }),
            ] as [(String, (inout ProviderHeaders) -> Void)] {
                let answer = try await rig.send(change)
                #expect(answer.reason == reason)
            }
            let large = #"{"aps":{"alert":"\#(String(repeating: "x", count: 4096))"}}"#
            #expect(try await rig.send(body: large).reason == "PayloadTooLarge")
            #expect(try await rig.send(body: "[]").reason == "PayloadEmpty")
            #expect(rig.upstream.log.requests.isEmpty)
            #expect(try await rig.send().status == 200)
        }
    }

    @Test func `Another Carillon delivers it, and its 410 comes back with its timestamp`() async throws {
        try await TestService.runInMemory { apple in
            try await TestService.runInMemory { gateway in
                let key = try #require(apple.description.key)
                try await gateway.setUpstream(
                    .init(
                        url: "https://127.0.0.1:\(try apple.port(\.provider))",
                        authority: try String(contentsOfFile: apple.description.ca, encoding: .utf8),
                        credentials: .init(
                            kind: "key", teamID: key.teamID, keyID: key.keyID,
                            privateKey: try String(contentsOfFile: key.path, encoding: .utf8))))
                let client = try await gateway.connectProvider()
                let token = try gateway.providerToken()
                let id = UUID().uuidString.lowercased()
                let headers = ProviderHeaders(try await apple.makeDeviceToken(), token: token).with("apns-id", id)
                let accepted = try await client.send(headers.fields)
                #expect((accepted.status, accepted["apns-id"]) == (200, id))
                let log = try await apple.ask("GET", "/v1/log?id=\(id)").text
                #expect(log.isEmpty || log.contains("accepted"))
                let gone = ProviderHeaders(try await apple.makeDeviceToken(isGone: true), token: token)
                let refused = try await client.send(gone.fields)
                #expect((refused.status, refused.reason) == (410, "Unregistered"))
                #expect(refused.body.contains("timestamp"))
                await client.close()
            }
        }
    }

    @Test func `An upstream's proxy carries the connection`() async throws {
        try await ConnectProxy.run { proxy in
            try await GatewayRig.run(set: { $0.proxy = proxy.url }) { rig async throws in
                #expect(try await rig.send().status == 200)
                #expect(proxy.requests.count == 1)
                #expect(rig.upstream.log.connections == 1)
            }
        }
    }

    @Test func `All clients share one connection and one provider token`() async throws {
        try await GatewayRig.run { rig async throws in
            #expect(try await rig.send().status == 200)
            for _ in 0..<3 {
                let client = try await rig.gateway.connectProvider()
                #expect(try await client.send(try rig.headers().fields).status == 200)
                await client.close()
            }
            #expect(rig.upstream.log.connections == 1)
            #expect(Set(rig.upstream.log.requests.map(\.token)).count == 1)
        }
    }

    @Test func `The log has what was forwarded and what was answered`() async throws {
        try await GatewayRig.run(script: { request, connection in
            connection.answer(request.stream, status: 410, reason: "Unregistered", timestamp: 5)
        }) { rig async throws in
            let id = UUID().uuidString.lowercased()
            #expect(try await rig.send({ $0 = $0.with("apns-id", id) }).status == 410)
            let events = try await rig.events(of: id, count: 2)
            #expect(events.map { $0["event"] as? String } == ["forwarded", "answered"])
            #expect(events.last?["status"] as? Int == 410)
            #expect(events.last?["reason"] as? String == "Unregistered")
            #expect(events.last?["token"] as? String == GatewayRig.token)
        }
    }

    @Test(arguments: [true, false])
    func `The log has what became of a request whose client went away`(isAnswered: Bool) async throws {
        try await GatewayRig.run(script: { request, connection in
            // By then the client is away. If it is not, the log is the same.
            connection.after(milliseconds: 300) {
                if isAnswered { connection.answer(request.stream) } else { connection.close() }
            }
        }) { rig async throws in
            let id = UUID().uuidString.lowercased()
            let client = try await rig.gateway.connectProvider()
            let fields = try rig.headers(id: id).fields
            let sent = Task { try await client.send(fields) }
            await rig.upstream.log.requests(1)
            await client.close()
            _ = await sent.result
            let events = try await rig.events(of: id, count: 2)
            #expect(events.map { $0["event"] as? String } == ["forwarded", isAnswered ? "answered" : "rejected"])
        }
    }

    @Test func `The other environment and other apps are not forwarded`() async throws {
        try await GatewayRig.run { rig async throws in
            try await rig.gateway.createApp("com.example.other")
            let other = try await rig.send({ $0 = $0.with("apns-topic", "com.example.other") })
            #expect(other.reason == "BadDeviceToken")
            let production = try await rig.gateway.in(.production).connectProvider()
            #expect(try await production.send(try rig.headers().fields).reason == "BadDeviceToken")
            await production.close()
            #expect(rig.upstream.log.requests.isEmpty)
        }
    }

    @Test func `An upstream that is removed gets nothing more, on a live connection`() async throws {
        try await GatewayRig.run { rig async throws in
            #expect(try await rig.send().status == 200)
            let _: ManagementMessages.Upstream = try await rig.gateway.administer(
                "DELETE", "/v1/apps/com.example.app/upstreams/development")
            #expect(try await rig.send().reason == "BadDeviceToken")
            // Its connection is closed.
            await rig.upstream.log.closed(1)
        }
    }

    @Test func `The management API sends to an upstream as well`() async throws {
        try await GatewayRig.run(settings: { $0.journal = 10 }) { rig async throws in
            let body = #"{"token":"\#(GatewayRig.token)","topic":"com.example.app","payload":{"aps":{"alert":"x"}}}"#
            let answer = try await rig.gateway.ask("POST", "/v1/notifications", body: body)
            #expect(answer.status == 200, "\(answer.text)")
            #expect(answer.text.contains(#""status":200"#), "\(answer.text)")
            #expect(rig.upstream.log.requests.count == 1)
        }
    }

    @Test func `The journal says that a notification of the management API was forwarded`() async throws {
        try await GatewayRig.run(settings: { $0.journal = 10 }) { rig async throws in
            let body = #"{"token":"\#(GatewayRig.token)","topic":"com.example.app","payload":{"aps":{"alert":"x"}}}"#
            #expect(try await rig.gateway.ask("POST", "/v1/notifications", body: body).status == 200)
            let requests = try await rig.gateway.ask("GET", "/v1/requests").text
            #expect(requests.contains(#""forwarded":true"#), "\(requests)")
        }
    }

    @Test func `The management API shows the time of an upstream's 410 as the upstream gave it`() async throws {
        // The machine's time, which an advanced clock has passed.
        let moment = UInt64(Date().timeIntervalSince1970 * 1000) + 60_000
        try await GatewayRig.run(
            script: { request, connection in
                connection.answer(request.stream, status: 410, reason: "Unregistered", timestamp: moment)
            }, settings: { $0.clock = .virtual }
        ) { rig async throws in
            #expect(try await rig.gateway.ask("POST", "/v1/clock", body: #"{"advance":"PT1H"}"#).status == 200)
            let body = #"{"token":"\#(GatewayRig.token)","topic":"com.example.app","payload":{"aps":{"alert":"x"}}}"#
            let answer = try await rig.gateway.ask("POST", "/v1/notifications", body: body)
            #expect((answer.problem?["timestamp"] as? NSNumber)?.uint64Value == moment, "\(answer.text)")
        }
    }

    @Test func `Metrics count by app what was sent and how it was answered`() async throws {
        try await GatewayRig.run(script: { request, connection in
            request.number == 0
                ? connection.answer(request.stream)
                : connection.answer(request.stream, status: 400, reason: request.number == 1 ? "BadDeviceToken" : "Odd")
        }) { rig async throws in
            for _ in 0..<3 { _ = try await rig.send() }
            let text = try await rig.gateway.ask("GET", "/metrics").text
            let labels = #"app="com.example.app",environment="development""#
            #expect(text.contains("carillon_forwarded_total{\(labels)} 3"), "\(text)")
            for answer in ["200", "BadDeviceToken", "other"] {
                #expect(
                    text.contains(#"carillon_upstream_answers_total{answer="\#(answer)",\#(labels)} 1"#)
                        || text.contains(#"carillon_upstream_answers_total{\#(labels),answer="\#(answer)"} 1"#),
                    "\(text)")
            }
            #expect(text.contains(#"carillon_upstream_connections{upstream="127.0.0.1"} 1"#), "\(text)")
            #expect(text.contains("carillon_upstream_tokens_made_total 1"), "\(text)")
        }
    }
}
