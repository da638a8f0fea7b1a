import Foundation
import Management
import ProviderTesting
import Service
import Testing

@testable import ServiceTesting

/// Notifications of grants that are held, and what becomes of them if the grant or the handle ends meanwhile.
@Suite(.timeLimit(.minutes(5))) struct HeldGrantTests {
    /// An instance with one handle, and a notification of it that the gateway holds.
    private struct Held {
        let instance: TestInstance
        let handle: String
        let id: String
    }

    /// Runs a gateway whose upstream cannot be reached before ``connect(_:)``.
    private func run(
        script: @escaping ScriptedServer.Script = { $1.answer($0.stream) },
        _ body: (GatewayRig) async throws -> Void,
    ) async throws {
        try await GatewayRig.run(
            script: script, settings: { $0.clock = .virtual },
            set: {
                $0.url = "https://127.0.0.1:1"
                $0.hold = "PT2H"
            }, body)
    }

    private func connect(_ rig: GatewayRig) async throws {
        var document = ManagementMessages.NewUpstream(
            url: "https://127.0.0.1:\(rig.upstream.port)", authority: try TestAuthority.rootPEM(), credentials: nil)
        document.hold = "PT2H"
        try await rig.gateway.setUpstream(document)
    }

    private func hold(
        _ rig: GatewayRig,
        _ name: String,
        _ change: (inout ManagementMessages.GrantBounds) -> Void = { _ in },
    ) async throws -> Held {
        let instance = try await rig.gateway.makeGrant(name, change)
        let handle = try await rig.gateway.makeHandle(GatewayRig.token, instance.clientKey)
        let id = UUID().uuidString.lowercased()
        let held = Held(instance: instance, handle: handle, id: id)
        let answer = try await send(rig, held, id)
        try #require(answer.status == 200, "\(answer.body)")
        return held
    }

    private func send(_ rig: GatewayRig, _ held: Held, _ id: String) async throws -> WireClient.Answer {
        var push = WirePush(token: held.handle, topic: rig.gateway.bundleID, authorization: try held.instance.token())
        push["apns-id"] = id
        let client = try await rig.gateway.connectProvider()
        let answer = try await client.send(push)
        await client.close()
        return answer
    }

    /// Waits until a notification's last event in the delivery log is this one.
    private func event(_ rig: GatewayRig, _ name: String, of held: Held) async throws -> [String: Any] {
        var (count, last) = (0, [String: Any]())
        while last["event"] as? String != name {
            let events = try await rig.events(of: held.id, count: count + 1)
            (count, last) = (events.count, try #require(events.last))
        }
        return last
    }

    private func sent(_ rig: GatewayRig) -> [String] { rig.upstream.log.requests.compactMap { $0.headers["apns-id"] } }

    enum End: CaseIterable {
        case revocation
        case date
        case deletedHandle
    }

    @Test(arguments: End.allCases)
    func `What is held is not sent after the grant or the handle has ended`(_ end: End) async throws {
        try await run { rig in
            let soon = UInt64(Date().timeIntervalSince1970 * 1000) + 600_000
            let ended = try await hold(rig, "ended") { if end == .date { $0.expires = soon } }
            let other = try await hold(rig, "other")
            switch end {
            case .revocation:
                let revoked = try await rig.gateway.ask("DELETE", "/v1/grants/\(ended.instance.grant)")
                #expect(revoked.status == 200)
            case .date: _ = try await rig.gateway.ask("POST", "/v1/clock", body: #"{"advance":"PT20M"}"#)
            case .deletedHandle:
                let deleted = try await rig.gateway.askGateway(
                    "DELETE", "/1/handles/\(ended.handle)", clientKey: ended.instance.clientKey)
                #expect(deleted.status == 200)
            }
            try await connect(rig)
            let discarded = try await event(rig, "discarded", of: ended)
            #expect(discarded["reason"] as? String == "revoked")
            // The log has the handle, and not the device token that the instance does not know.
            #expect(discarded["token"] as? String == ended.handle)
            _ = try await event(rig, "answered", of: other)
            #expect(sent(rig) == [other.id])
        }
    }

    @Test func `What a suspended grant has held waits until it is resumed`() async throws {
        try await run { rig in
            let (suspended, other) = (try await hold(rig, "suspended"), try await hold(rig, "other"))
            _ = try await rig.gateway.change(suspended.instance.grant, #"{"suspended":true}"#)
            try await connect(rig)
            _ = try await event(rig, "answered", of: other)
            #expect(sent(rig) == [other.id])
            _ = try await rig.gateway.change(suspended.instance.grant, #"{"suspended":false}"#)
            _ = try await rig.gateway.ask("POST", "/v1/clock", body: #"{"advance":"PT2M"}"#)
            _ = try await event(rig, "answered", of: suspended)
            #expect(sent(rig) == [other.id, suspended.id])
        }
    }

    @Test(arguments: [(429, "TooManyRequests"), (503, "ServiceUnavailable")])
    func `One that the upstream does not take does not keep back the others`(
        _ status: Int, _ reason: String,
    ) async throws {
        // The first one is refused for as long as the other was not sent.
        try await run(script: { request, connection in
            request.number == 0
                ? connection.answer(request.stream, status: status, reason: reason) : connection.answer(request.stream)
        }) { rig in
            let (first, other) = (try await hold(rig, "first"), try await hold(rig, "other"))
            try await connect(rig)
            _ = try await event(rig, "answered", of: other)
            #expect(sent(rig) == [first.id, other.id])
            _ = try await rig.gateway.ask("POST", "/v1/clock", body: #"{"advance":"PT2M"}"#)
            await rig.upstream.log.requests(3)
            #expect(sent(rig) == [first.id, other.id, first.id])
        }
    }

    @Test func `A 410 for what was held is remembered`() async throws {
        try await run(script: { request, connection in
            connection.answer(request.stream, status: 410, reason: "Unregistered", timestamp: 4_000_000_000_000)
        }) { rig in
            let held = try await hold(rig, "instance")
            try await connect(rig)
            let answered = try await event(rig, "answered", of: held)
            #expect(answered["status"] as? Int == 410)
            // It is remembered after the event.
            while rig.upstream.log.requests.count < 20 {
                let count = rig.upstream.log.requests.count
                #expect(try await send(rig, held, UUID().uuidString).status == 410)
                if rig.upstream.log.requests.count == count { break }
            }
            #expect(rig.upstream.log.requests.count < 20)
        }
    }
}
