import APNSProvider
import CommonTesting
import Foundation
import HTTP2
import Management
import NIOCore
import ProviderTesting
import Service
import Synchronization
import Testing

@testable import ServiceTesting

/// Upstreams that misbehave. The client gets a clear answer, and never a 200 that the upstream has not given.
@Suite(.timeLimit(.minutes(5))) struct StrangeUpstreamTests {
    private func expectUnavailable(
        _ answer: WireClient.Answer, _ detail: String, sourceLocation: SourceLocation = #_sourceLocation,
    ) {
        #expect((answer.status, answer.reason) == (503, "ServiceUnavailable"), sourceLocation: sourceLocation)
        #expect(answer.body.contains(detail), "\(answer.body)", sourceLocation: sourceLocation)
    }

    @Test func `Nobody listens`() async throws {
        try await GatewayRig.run(set: { $0.url = "https://127.0.0.1:1" }) { rig async throws in
            expectUnavailable(try await rig.send(), "The upstream has not answered")
        }
    }

    @Test func `The upstream does not choose HTTP 2`() async throws {
        var options = ScriptedServer.Options()
        options.protocols = []
        try await GatewayRig.run(options) { rig async throws in
            expectUnavailable(try await rig.send(), "does not speak HTTP/2")
            #expect(rig.upstream.log.requests.isEmpty)
        }
    }

    @Test func `With no connection and the last attempt refused, each client gets its 503 from what is known`()
        async throws
    {
        try await GatewayRig.run(set: { $0.url = "https://127.0.0.1:1" }) { rig async throws in
            for _ in 0..<20 { expectUnavailable(try await rig.send(), "The upstream has not answered: No connection") }
        }
    }

    @Test func `A first request that hangs does not keep other clients waiting`() async throws {
        // The first request on the first connection is never answered.
        try await GatewayRig.run(script: { request, connection in
            if request.number > 0 { connection.answer(request.stream) }
        }) { rig async throws in
            async let hanging = rig.send()
            await rig.upstream.log.requests(1)
            let other = try await rig.gateway.connectProvider()
            #expect(try await other.send(try rig.headers().fields).status == 200)
            #expect(rig.upstream.log.connections == 2)
            await other.close()
            expectUnavailable(try await hanging, "may have accepted")
        }
    }

    @Test func `The upstream's certificate is of another authority`() async throws {
        try await TestService.runInMemory { other in
            let pem = try String(contentsOfFile: other.description.ca, encoding: .utf8)
            try await GatewayRig.run(set: { $0.authority = pem }) { rig async throws in
                expectUnavailable(try await rig.send(), "The upstream has not answered")
                #expect(rig.upstream.log.requests.isEmpty)
            }
        }
    }

    @Test func `The upstream has another certificate when the gateway connects again`() async throws {
        let port = Atomic(0)
        try await TestService.runInMemory { other in
            let impostor = try other.port(\.provider)
            try await ConnectProxy.run(.misleads { port.load(ordering: .relaxed) }) { proxy in
                try await GatewayRig.run(
                    script: { request, connection in
                        request.number == 1 ? connection.close() : connection.answer(request.stream)
                    }, set: { $0.proxy = proxy.url }
                ) { rig async throws in
                    port.store(rig.upstream.port, ordering: .relaxed)
                    #expect(try await rig.send().status == 200)
                    port.store(impostor, ordering: .relaxed)
                    expectUnavailable(try await rig.send(), "may have accepted")
                    expectUnavailable(try await rig.send(), "The upstream has not answered")
                    #expect(rig.upstream.log.requests.count == 2)
                    port.store(rig.upstream.port, ordering: .relaxed)
                    try await wait(while: try await rig.send().status != 200)
                }
            }
        }
    }

    @Test(
        arguments: [
            (204, nil), (302, nil), (302, #"{"reason":"Moved"}"#), (200, nil), (404, "<html>"), (500, "<html>"),
            (400, #"{"reason":""}"#), (400, #"{"reason":"with space"}"#), (599, #"{"reason":7}"#),
        ] as [(Int, String?)])
    func `The upstream answers nonsense`(status: Int, body: String?) async throws {
        try await GatewayRig.run(script: { request, connection in
            // A 200 without an identifier is nonsense, and so is another 2xx with one.
            connection.answer(request.stream, status: status, id: status == 200 ? nil : Self.id, body: body)
        }) { rig async throws in
            expectUnavailable(try await rig.send(), "The upstream has not answered")
            #expect(rig.upstream.log.requests.count == 1)
        }
    }

    private static let id = "8b1e5b4a-9c0c-4d5e-8f00-0123456789ab"

    @Test func `The upstream closes the connection in the middle of a request`() async throws {
        try await GatewayRig.run(script: { request, connection in
            request.number == 1 ? connection.close() : connection.answer(request.stream)
        }) { rig async throws in
            #expect(try await rig.send().status == 200)
            let cut = try await rig.send()
            expectUnavailable(cut, "may have accepted")
            #expect(cut.body.components(separatedBy: "may have accepted").count == 2, "Once: \(cut.body)")
            // It is not sent again by the gateway. The next one opens a new connection.
            #expect(rig.upstream.log.requests.count == 2)
            #expect(try await rig.send().status == 200)
        }
    }

    @Test func `The upstream says GOAWAY before it has processed a request`() async throws {
        try await GatewayRig.run(script: { request, connection in
            request.number == 1
                ? connection.goAway(lastStream: StreamID(1), reason: "Shutdown") : connection.answer(request.stream)
        }) { rig async throws in
            #expect(try await rig.send().status == 200)
            #expect(try await rig.send().status == 200)
            #expect(rig.upstream.log.requests.count == 3)
        }
    }

    @Test func `The upstream allows one stream at a time`() async throws {
        var options = ScriptedServer.Options()
        options.streams = 1
        try await GatewayRig.run(options) { rig async throws in
            #expect(try await rig.send().status == 200)
            let headers = try rig.headers().fields
            try await withThrowingTaskGroup(of: Int.self) { group in
                for _ in 0..<20 { group.addTask { try await rig.client.send(headers).status } }
                for try await status in group { #expect(status == 200) }
            }
            #expect(rig.upstream.log.connections <= 8)
            for connection in 0..<rig.upstream.log.connections {
                #expect(rig.upstream.log.greatestOpen(on: connection) <= 1)
            }
        }
    }

    @Test func `The upstream calls the gateway's provider token expired`() async throws {
        try await GatewayRig.run(script: { request, connection in
            request.number == 0
                ? connection.answer(request.stream, status: 403, reason: "ExpiredProviderToken")
                : connection.answer(request.stream)
        }) { rig async throws in
            #expect(try await rig.send().status == 200)
            #expect(Set(rig.upstream.log.requests.map(\.token)).count == 2)
        }
    }

    @Test(arguments: [(429, "TooManyRequests"), (503, "ServiceUnavailable"), (500, "InternalServerError")])
    func `A rejection is not retried, because it is the client's to decide`(status: Int, reason: String) async throws {
        try await GatewayRig.run(script: { request, connection in
            connection.answer(request.stream, status: status, reason: reason)
        }) { rig async throws in
            let answer = try await rig.send()
            #expect((answer.status, answer.reason) == (status, reason))
            #expect(rig.upstream.log.requests.count == 1)
            // The connection to the gateway stays open.
            #expect(try await rig.client.isOpen())
        }
    }

    @Test func `An answer that comes late delays no other`() async throws {
        let late = Mutex<StreamID?>(nil)
        try await GatewayRig.run(script: { request, connection in
            if request.number == 1 { return late.withLock { $0 = request.stream } }
            connection.answer(request.stream)
            // The second request gets its answer after the fourth has got its own.
            if request.number == 3, let stream = late.withLock(\.self) { connection.answer(stream) }
        }) { rig async throws in
            #expect(try await rig.send().status == 200)
            let headers = try rig.headers().fields
            try await withThrowingTaskGroup(of: Int.self) { group in
                group.addTask { try await rig.client.send(headers).status }
                await rig.upstream.log.requests(2)
                for _ in 0..<2 {
                    let other = try await rig.send()
                    #expect(other.status == 200)
                }
                for try await status in group { #expect(status == 200) }
            }
        }
    }

    @Test func `An upstream that hangs is given up after the named time`() async throws {
        try await GatewayRig.run(script: { _, _ in }) { rig async throws in
            expectUnavailable(try await rig.send(), "may have accepted")
            await rig.upstream.log.cancelled(1)
        }
    }

    @Test func `A loop of gateways ends`() async throws {
        try await TestService.runInMemory { one in
            try await TestService.runInMemory { other in
                for (from, to) in [(one, other), (other, one)] {
                    let key = try #require(to.description.key)
                    try await from.setUpstream(
                        .init(
                            url: "https://127.0.0.1:\(try to.port(\.provider))",
                            authority: try String(contentsOfFile: to.description.ca, encoding: .utf8),
                            credentials: .init(
                                kind: "key", teamID: key.teamID, keyID: key.keyID,
                                privateKey: try String(contentsOfFile: key.path, encoding: .utf8))))
                }
                let client = try await one.connectProvider()
                let headers = ProviderHeaders(GatewayRig.token, token: try one.providerToken())
                expectUnavailable(try await client.send(headers.fields), "loop")
                // Gateways that this one does not know end it as well.
                let via = (0..<4).map { "2 gateway-\($0)" }.joined(separator: ", ")
                expectUnavailable(try await client.send(headers.with("via", via).fields), "gateways")
                await client.close()
            }
        }
    }
}
