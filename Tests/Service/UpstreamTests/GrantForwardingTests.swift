import APNSProvider
import CommonTesting
import Delivery
import Foundation
import Management
import Notifications
import ProviderTesting
import Synchronization
import Testing

@testable import ServiceTesting

/// What grants send to an upstream.
@Suite(.timeLimit(.minutes(5))) struct GrantForwardingTests {
    private func push(_ rig: GatewayRig, _ instance: TestInstance, _ handle: String) throws -> WirePush {
        WirePush(token: handle, topic: rig.gateway.bundleID, authorization: try instance.token())
    }

    private func send(_ rig: GatewayRig, _ instance: TestInstance, _ handle: String) async throws -> WireClient.Answer {
        let client = try await rig.gateway.connectProvider()
        let answer = try await client.send(try push(rig, instance, handle))
        await client.close()
        return answer
    }

    @Test func `The upstream gets the device token, and the gateway's own provider token`() async throws {
        try await GatewayRig.run { rig in
            let instance = try await rig.gateway.makeGrant()
            let token = String(repeating: "a5", count: 40)
            let handle = try await rig.gateway.makeHandle(token, instance.clientKey)
            #expect(try await send(rig, instance, handle).status == 200)
            let request = try #require(rig.upstream.log.requests.first)
            #expect(request.path == "/3/device/\(token)")
            #expect(!request.token.contains(try instance.token()))
        }
    }

    @Test func `A device token and what a limit refuses never reach the upstream`() async throws {
        try await GatewayRig.run { rig in
            let open = try await rig.gateway.makeGrant()
            #expect(try await send(rig, open, GatewayRig.token).reason == "BadDeviceToken")
            let instance = try await rig.gateway.makeGrant { $0.encryptedOnly = true }
            let handle = try await rig.gateway.makeHandle(GatewayRig.token, instance.clientKey)
            #expect(try await send(rig, instance, handle).reason == "PayloadEmpty")
            #expect(rig.upstream.log.requests.isEmpty)
        }
    }

    @Test func `Under encryptedOnly a collapse identifier that could be a message never reaches the upstream`()
        async throws
    {
        for form in [.any, .matrix] as [ManagementMessages.EncryptedOnly] {
            try await GatewayRig.run { rig in
                let instance = try await rig.gateway.makeGrant { $0.encryptedOnly = form }
                #expect(try await rig.gateway.grant(instance.grant).readable?.contains("apns-collapse-id") == true)
                let handle = try await rig.gateway.makeHandle(GatewayRig.token, instance.clientKey)
                var push = try push(rig, instance, handle)
                push.payload(#"{"aps":{"mutable-content":1}}"#)
                let client = try await rig.gateway.connectProvider()
                push["apns-collapse-id"] = "Bob: lets meet at five behind the church, bring the money"
                let refused = try await client.send(push)
                #expect(refused.status == 400 && refused.reason == "BadCollapseId", "\(refused.body)")
                #expect(refused.body.contains("encryptedOnly"))
                #expect(rig.upstream.log.requests.isEmpty)
                push["apns-collapse-id"] = "chat-42"
                #expect(try await client.send(push).status == 200)
                #expect(rig.upstream.log.requests.first?.headers["apns-collapse-id"] == "chat-42")
                await client.close()
            }
        }
    }

    @Test func `A grant that is revoked while its handle is looked up sends nothing`() async throws {
        let revoked = Mutex<GrantID?>(nil)
        try await GatewayRig.run(wrapping: { store in
            let grants = WatchedGrants(store.grantStore) {
                guard let grant = revoked.withLock({ $0 }) else { return }
                _ = try? await store.apply(.revokeGrant(grant, at: Timestamp(milliseconds: 1)))
            }
            return StoreOfGrants(inner: store, grantStore: grants)
        }) { rig in
            let instance = try await rig.gateway.makeGrant()
            let handle = try await rig.gateway.makeHandle(GatewayRig.token, instance.clientKey)
            revoked.withLock { $0 = GrantID(rawValue: instance.grant) }
            let answer = try await send(rig, instance, handle)
            #expect(answer.status == 403 && answer.reason == "InvalidProviderToken")
            #expect(rig.upstream.log.requests.isEmpty)
        }
    }

    @Test func `A development token of an app without a development upstream is told so`() async throws {
        try await TestService.runInMemory { test in
            let document = ManagementMessages.NewUpstream(
                url: "https://127.0.0.1:1", authority: nil, credentials: try GatewayRig.ownKey())
            let _: ManagementMessages.Upstream = try await test.administer(
                "PUT", "/v1/apps/\(test.bundleID)/upstreams/production", document)
            let instance = try await test.makeGrant()
            let made = try await test.askForHandle(GatewayRig.token, instance.clientKey)
            #expect(made.status == 200 && made.body.contains("no upstream in the development environment"))
            let handle = try await test.makeHandle(GatewayRig.token, instance.clientKey)
            let client = try await test.connectProvider()
            let answer = try await client.send(
                WirePush(token: handle, topic: test.bundleID, authorization: try instance.token()))
            await client.close()
            #expect((answer.status, answer.reason) == (503, "ServiceUnavailable"))
            #expect(answer.body.contains("no upstream in the development environment"), "\(answer.body)")
            let own = try await test.askForHandle(test.makeDeviceToken(), instance.clientKey)
            #expect(own.status == 200 && !own.body.contains("detail"))
        }
    }

    /// After a 400 the instance would forget the handle.
    @Test func `A grant gets 503 if the app has no upstream any more`() async throws {
        try await GatewayRig.run { rig in
            let instance = try await rig.gateway.makeGrant()
            let handle = try await rig.gateway.makeHandle(GatewayRig.token, instance.clientKey)
            let path = "/v1/apps/\(rig.gateway.bundleID)/upstreams/development"
            #expect(try await rig.gateway.ask("DELETE", path).status == 200)
            let answer = try await send(rig, instance, handle)
            #expect((answer.status, answer.reason) == (503, "ServiceUnavailable"))
            #expect(answer.body.contains("no upstream"), "\(answer.body)")
        }
    }

    @Test func `A handle that the upstream has ended is listed as ended and does not count`() async throws {
        try await GatewayRig.run(script: { request, connection in
            connection.answer(request.stream, status: 410, reason: "Unregistered", timestamp: 4_000_000_000_000)
        }) { rig in
            let instance = try await rig.gateway.makeGrant { $0.maximumHandles = 1 }
            let handle = try await rig.gateway.makeHandle(GatewayRig.token, instance.clientKey)
            #expect(try await send(rig, instance, handle).status == 410)
            // It is remembered after the answer.
            let path = "/v1/grants/\(instance.grant)/handles?state=ended"
            try await wait(while: try await !rig.gateway.ask("GET", path).text.contains(handle))
            #expect(try await rig.gateway.grant(instance.grant).handles == 0)
            _ = try await rig.gateway.makeHandle(String(repeating: "5b", count: 32), instance.clientKey)
            let again = try await rig.gateway.askForHandle(GatewayRig.token, instance.clientKey)
            #expect(again.status == 403, "A handle that comes back needs room again.")
        }
    }

    @Test func `A 410 is remembered until the app registers the token again`() async throws {
        try await GatewayRig.run(script: { request, connection in
            connection.answer(request.stream, status: 410, reason: "Unregistered", timestamp: 4_000_000_000_000)
        }) { rig in
            let instance = try await rig.gateway.makeGrant()
            let handle = try await rig.gateway.makeHandle(GatewayRig.token, instance.clientKey)
            let first = try await send(rig, instance, handle)
            #expect(first.status == 410 && first.body.contains("4000000000000"))
            // It is remembered after the answer.
            while rig.upstream.log.requests.count < 20 {
                let count = rig.upstream.log.requests.count
                let again = try await send(rig, instance, handle)
                #expect(again.status == 410 && again.reason == "Unregistered" && again.body.contains("4000000000000"))
                if rig.upstream.log.requests.count == count { break }
            }
            let asked = rig.upstream.log.requests.count
            #expect(asked < 20)
            #expect(try await rig.gateway.makeHandle(GatewayRig.token, instance.clientKey) == handle)
            #expect(try await send(rig, instance, handle).status == 410)
            #expect(rig.upstream.log.requests.count == asked + 1)
        }
    }

    @Test func `BadDeviceToken and a 410 from before the registration are passed on and not remembered`() async throws {
        for (status, reason, timestamp) in [(400, "BadDeviceToken", nil), (410, "Unregistered", 1_000)]
            as [(Int, String, UInt64?)]
        {
            try await GatewayRig.run(script: { request, connection in
                connection.answer(request.stream, status: status, reason: reason, timestamp: timestamp)
            }) { rig in
                let instance = try await rig.gateway.makeGrant()
                let handle = try await rig.gateway.makeHandle(GatewayRig.token, instance.clientKey)
                for _ in 0..<3 { #expect(try await send(rig, instance, handle).reason == reason) }
                #expect(rig.upstream.log.requests.count == 3)
                #expect(try await rig.gateway.grant(instance.grant).sent == [reason: 3])
            }
        }
    }

    @Test func `The outcomes of strange upstreams are counted as one`() async throws {
        try await GatewayRig.run(script: { request, connection in
            connection.answer(request.stream, status: 400, reason: "Strange\(request.stream)")
        }) { rig in
            let instance = try await rig.gateway.makeGrant()
            let handle = try await rig.gateway.makeHandle(GatewayRig.token, instance.clientKey)
            for _ in 0..<3 { #expect(try await send(rig, instance, handle).status == 400) }
            #expect(try await rig.gateway.grant(instance.grant).sent == ["other": 3])
        }
    }

    @Test func `Metrics count by grant what was forwarded and how it was answered`() async throws {
        try await GatewayRig.run { rig in
            let (one, two) = (try await rig.gateway.makeGrant("one"), try await rig.gateway.makeGrant("two"))
            for (instance, count) in [(one, 2), (two, 1)] {
                let handle = try await rig.gateway.makeHandle(GatewayRig.token, instance.clientKey)
                for _ in 0..<count { #expect(try await send(rig, instance, handle).status == 200) }
            }
            #expect(try await send(rig, one, GatewayRig.token).reason == "BadDeviceToken")
            let text = try await rig.gateway.ask("GET", "/metrics").text
            for line in [
                #"carillon_grant_forwarded_total{grant="\#(one.grant)"} 2"#,
                #"carillon_grant_forwarded_total{grant="\#(two.grant)"} 1"#,
                #"carillon_grant_answers_total{grant="\#(one.grant)",outcome="200"} 2"#,
                #"carillon_grant_answers_total{grant="\#(one.grant)",outcome="BadDeviceToken"} 1"#,
                #"carillon_grant_upstream_seconds_total{grant="\#(one.grant)"} "#,
            ] {
                #expect(text.contains(line), "\(line)")
            }
        }
    }

    @Test func `A replayed request goes on under its identifier, and counts for the limits`() async throws {
        try await GatewayRig.run { rig in
            let instance = try await rig.gateway.makeGrant { $0.daily = 2 }
            let handle = try await rig.gateway.makeHandle(GatewayRig.token, instance.clientKey)
            var push = try push(rig, instance, handle)
            push["apns-id"] = "8b1e5b4a-9c0c-4d5e-8f00-00000000000a"
            let client = try await rig.gateway.connectProvider()
            for status in [200, 200, 429] { #expect(try await client.send(push).status == status) }
            await client.close()
            #expect(rig.upstream.log.requests.map { $0.headers["apns-id"] } == [push["apns-id"], push["apns-id"]])
        }
    }

    // MARK: Fairness

    /// Holds the upstream's answers back until it is opened.
    private final class Gate: Sendable {
        private let isOpen = Atomic(false)

        func open() { isOpen.store(true, ordering: .relaxed) }
        func close() { isOpen.store(false, ordering: .relaxed) }

        func answer(_ request: ScriptedRequest, on connection: ScriptedConnection) {
            if isOpen.load(ordering: .relaxed) { return connection.answer(request.stream) }
            connection.after(milliseconds: 5) { self.answer(request, on: connection) }
        }
    }

    @Test func `A grant that floods does not delay the others`() async throws {
        let (gate, flood, few) = (Gate(), 40, 3)
        var options = ScriptedServer.Options()
        options.streams = 1
        try await GatewayRig.run(options, script: { gate.answer($0, on: $1) }) { rig async throws in
            let tokens = (flood: String(repeating: "f1", count: 32), other: String(repeating: "0e", count: 32))
            let (flooding, other) = (
                try await rig.gateway.makeGrant("flood"), try await rig.gateway.makeGrant("other")
            )
            let handles = (
                flood: try await rig.gateway.makeHandle(tokens.flood, flooding.clientKey),
                other: try await rig.gateway.makeHandle(tokens.other, other.clientKey)
            )
            let clients = (
                flood: try await rig.gateway.connectProvider(), other: try await rig.gateway.connectProvider()
            )
            // The connections may have more than one open request once they have shown a provider token.
            gate.open()
            #expect(try await clients.flood.send(try push(rig, flooding, handles.flood)).status == 200)
            #expect(try await clients.other.send(try push(rig, other, handles.other)).status == 200)
            gate.close()
            let before = rig.upstream.log.requests.count
            let pushes = (flood: try push(rig, flooding, handles.flood), other: try push(rig, other, handles.other))
            try await withThrowingTaskGroup(of: Int.self) { group in
                for _ in 0..<flood { group.addTask { try await clients.flood.send(pushes.flood).status } }
                try await forwarded(rig, before + flood)
                for _ in 0..<few { group.addTask { try await clients.other.send(pushes.other).status } }
                try await forwarded(rig, before + flood + few)
                gate.open()
                for try await status in group { #expect(status == 200) }
            }
            let order = rig.upstream.log.requests.dropFirst(before).map(\.path)
            #expect(order.count == flood + few)
            // Those under way on the upstream's few streams were first. Then the others have every second turn.
            let last = order.lastIndex { $0.hasSuffix(tokens.other) }.map { $0 - before }
            #expect(last.map { $0 < flood / 2 } == true, "\(String(describing: last))")
            await clients.flood.close()
            await clients.other.close()
        }
    }

    @Test func `What waits for a stream of the upstream is not sent after a revocation`() async throws {
        let (gate, count) = (Gate(), 40)
        var options = ScriptedServer.Options()
        options.streams = 1
        try await GatewayRig.run(options, script: { gate.answer($0, on: $1) }) { rig async throws in
            let instance = try await rig.gateway.makeGrant()
            let handle = try await rig.gateway.makeHandle(GatewayRig.token, instance.clientKey)
            let client = try await rig.gateway.connectProvider()
            let push = try push(rig, instance, handle)
            gate.open()
            #expect(try await client.send(push).status == 200)
            gate.close()
            let before = rig.upstream.log.requests.count
            var answers: [WireClient.Answer] = []
            try await withThrowingTaskGroup(of: WireClient.Answer.self) { group in
                for _ in 0..<count { group.addTask { try await client.send(push) } }
                try await forwarded(rig, before + count)
                let revoked = try await rig.gateway.ask("DELETE", "/v1/grants/\(instance.grant)")
                #expect(revoked.status == 200)
                for try await answer in group {
                    answers.append(answer)
                    // What the upstream has got before is answered by it.
                    gate.open()
                }
            }
            let accepted = answers.count { $0.status == 200 }
            #expect(answers.count { $0.status == 403 && $0.reason == "InvalidProviderToken" } == count - accepted)
            let sent = rig.upstream.log.requests.count - before
            #expect(accepted <= sent && sent < count, "\(accepted) accepted, \(sent) sent")
            await client.close()
        }
    }

    /// Waits until the gateway has taken this many notifications.
    private func forwarded(_ rig: GatewayRig, _ count: Int) async throws {
        func taken() async throws -> Int {
            let text = try await rig.gateway.ask("GET", "/metrics").text
            let line = text.split(separator: "\n").first { $0.hasPrefix("carillon_forwarded_total") }
            return line?.split(separator: " ").last.flatMap { Int($0) } ?? 0
        }
        try await wait(while: try await taken() < count)
    }

    @Test func `A grant is not made for an app whose upstream gets the client's provider token`() async throws {
        try await GatewayRig.run(set: { $0.credentials = .init(kind: "passthrough") }) { rig in
            let answer = try await rig.gateway.ask(
                "POST", "/v1/grants", body: #"{"bundleID":"com.example.app","name":"x"}"#)
            #expect(answer.status == 409, "\(answer.text)")
        }
    }

    @Test func `An upstream that gets the client's provider token is refused if the app has a grant`() async throws {
        try await GatewayRig.run { rig in
            _ = try await rig.gateway.makeGrant()
            let answer = try await rig.gateway.ask(
                "PUT", "/v1/apps/com.example.app/upstreams/development",
                body: #"{"url":"https://127.0.0.1:9","credentials":{"kind":"passthrough"}}"#)
            #expect(answer.status == 409, "\(answer.text)")
        }
    }
}
