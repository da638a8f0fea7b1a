import CommonTesting
import Foundation
import Management
import ProviderTesting
import Service
import Synchronization
import Testing

@testable import ServiceTesting

/// Notifications that stay here for a time: `hold` and `capture`.
@Suite(.timeLimit(.minutes(5))) struct KeptHereTests {
    @Test func `A held notification is answered 200 and sent when the upstream is back`() async throws {
        let isBack = Atomic(false)
        try await GatewayRig.run(
            script: { request, connection in
                isBack.load(ordering: .relaxed) ? connection.answer(request.stream) : connection.close()
            }, set: { $0.hold = "PT1H" }
        ) { rig async throws in
            let id = UUID().uuidString.lowercased()
            let answer = try await rig.send({ $0 = $0.with("apns-id", id).with("apns-priority", "5") })
            #expect((answer.status, answer["apns-id"]) == (200, id))
            isBack.store(true, ordering: .relaxed)
            // The log says when it was held, and what became of it.
            var events: [String] = []
            repeat {
                events = try await rig.events(of: id, count: events.count + 1).compactMap { $0["event"] as? String }
            } while events.last != "answered"
            #expect(Array(events.prefix(2)) == ["forwarded", "held"])
            let last = try #require(rig.upstream.log.requests.last)
            #expect((last.headers["apns-id"], last.headers["apns-priority"]) == (id, "5"))
            #expect(last.body == #"{"aps":{"alert":"Hello"}}"#)
            #expect(Set(rig.upstream.log.requests.compactMap { $0.headers["apns-id"] }) == [id])
        }
    }

    @Test func `A notification that must not be stored is not held`() async throws {
        try await GatewayRig.run(set: {
            $0.url = "https://127.0.0.1:1"
            $0.hold = "PT1H"
        }) { rig async throws in
            for expiration in ["0", "1000"] {
                let answer = try await rig.send({ $0 = $0.with("apns-expiration", expiration) })
                #expect((answer.status, answer.reason) == (503, "ServiceUnavailable"))
            }
            #expect(try await rig.send().status == 200)
        }
    }

    @Test func `The log of what could not be handed to the upstream does not say forwarded`() async throws {
        for hold in [nil, "PT1H"] as [String?] {
            try await GatewayRig.run(set: {
                $0.url = "https://127.0.0.1:1"
                $0.hold = hold
            }) { rig async throws in
                let id = UUID().uuidString.lowercased()
                #expect(try await rig.send({ $0 = $0.with("apns-id", id) }).status == (hold == nil ? 503 : 200))
                let events = try await rig.events(of: id, count: 1)
                #expect(events.map { $0["event"] as? String } == [hold == nil ? "rejected" : "held"])
                // The management API.
                let other = UUID().uuidString.lowercased()
                let body =
                    #"{"token":"\#(GatewayRig.token)","topic":"com.example.app","id":"\#(other)","payload":{"aps":{"alert":"x"}}}"#
                _ = try await rig.gateway.ask("POST", "/v1/notifications", body: body)
                let direct = try await rig.events(of: other, count: 1)
                #expect(direct.map { $0["event"] as? String } == ["rejected"])
            }
        }
    }

    @Test func `A held notification survives a restart`() async throws {
        try await ScriptedServer.run(script: { $1.answer($0.stream) }) { server in
            let id = UUID().uuidString.lowercased()
            try await TestService.runTwice { test in
                var document = ManagementMessages.NewUpstream(
                    url: "https://127.0.0.1:1", authority: try TestAuthority.rootPEM(),
                    credentials: try GatewayRig.ownKey())
                document.hold = "PT1H"
                try await test.setUpstream(document)
                let client = try await test.connectProvider()
                let headers = ProviderHeaders(GatewayRig.token, token: try test.providerToken()).with("apns-id", id)
                #expect(try await client.send(headers.fields).status == 200)
                await client.close()
            } _: { test, _ in
                // The address is corrected, and the credentials stay.
                try await test.setUpstream(
                    .init(
                        url: "https://127.0.0.1:\(server.port)", authority: try TestAuthority.rootPEM(),
                        credentials: nil))
                await server.log.requests(1)
                #expect(server.log.requests.first?.headers["apns-id"] == id)
            }
        }
    }

    @Test func `A captured request is kept, and released to the upstream on request`() async throws {
        try await GatewayRig.run(settings: { $0.journal = 100 }, set: { $0.capture = true }) { rig async throws in
            let answer = try await rig.send({ $0 = $0.with("apns-collapse-id", "c") })
            #expect((answer.status, answer["carillon-captured"]) == (200, "1"))
            #expect(rig.upstream.log.requests.isEmpty)
            let request = try #require(try await rig.gateway.requests().first)
            #expect(request["captured"] as? Bool == true)
            let number = try #require(request["number"] as? Int)
            let released = try await rig.gateway.ask("POST", "/v1/requests/\(number)/release")
            #expect(released.status == 200, "\(released.text)")
            #expect(released.problem?["status"] as? Int == 200)
            let forwarded = try #require(rig.upstream.log.requests.first)
            #expect(forwarded.headers["apns-id"] == answer["apns-id"])
            #expect(forwarded.headers["apns-collapse-id"] == "c")
            #expect(try await rig.gateway.ask("POST", "/v1/requests/999/release").status == 404)
        }
    }

    @Test func `Captured requests survive a restart under their numbers, and a wrong one is refused as always`()
        async throws
    {
        let id = UUID().uuidString.lowercased()
        try await TestService.runTwice { test in
            var document = ManagementMessages.NewUpstream(
                url: "https://127.0.0.1:1", credentials: try GatewayRig.ownKey())
            document.capture = true
            try await test.setUpstream(document)
            let client = try await test.connectProvider()
            let headers = ProviderHeaders(GatewayRig.token, token: try test.providerToken())
            #expect(try await client.send(headers.with("apns-id", id).fields)["carillon-captured"] == "1")
            #expect(try await client.send(headers.with("apns-priority", "7").fields).reason == "BadPriority")
            await client.close()
        } _: { test, _ in
            let released = try await test.ask("POST", "/v1/requests/1/release")
            #expect(released.status == 200)
            #expect(released.problem?["status"] as? Int == 503, "\(released.text)")
            let log = try await firstValue {
                let text = try await test.ask("GET", "/v1/log?id=\(id)").text
                return text.contains("rejected") ? text : nil
            }
            #expect(!log.contains("forwarded"), "Nothing was handed to the upstream: \(log)")
            #expect(try await test.ask("POST", "/v1/requests/2/release").status == 404)
            _ = try await test.ask("DELETE", "/v1/apps/com.example.app/upstreams/development")
            #expect(try await test.ask("POST", "/v1/requests/1/release").status == 409)
        }
    }
}
