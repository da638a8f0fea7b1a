import HTTPAPI
import NIOHTTP1
import Notifications
import Rates
import Service
import Testing
import WebPush

@testable import ServiceTesting

/// Requests with faults, beside others on the same connection or from the same address.
@Suite(.timeLimit(.minutes(2)))
struct StrangeRequestTests {
    private func connect(_ service: PushedService) async throws -> WireClient {
        let port = try required(service.origin.split(separator: ":").last.flatMap { Int($0) })
        return try await WireClient.connect(port: port, authorityFile: service.test.description.ca)
    }

    private func message(_ service: PushedService, _ length: String? = nil) -> WirePush {
        var push = WirePush(token: "", topic: "", authorization: "")
        push.path = service.endpoint.url(at: "")
        push.headers = [("ttl", "60"), ("content-encoding", "aes128gcm")]
        if let length { push.headers.append(("content-length", length)) }
        push.body = [1, 2]
        return push
    }

    private static func isAnswered(_ push: WirePush, over connection: WireClient) async -> Bool {
        (try? await connection.send(push)) != nil
    }

    @Test(arguments: ["9", "1"]) func `A body of another length ends its own request alone`(
        _ length: String
    ) async throws {
        try await PushedService.run { service in
            let connection = try await connect(service)
            #expect(try await connection.send(message(service)).status == 201)
            async let first = connection.send(message(service))
            async let broken = Self.isAnswered(message(service, length), over: connection)
            async let last = connection.send(message(service))
            #expect(try await first.status == 201)
            #expect(await broken == false)
            #expect(try await last.status == 201)
            #expect(try await connection.send(message(service)).status == 201)
            #expect(try await service.test.metric(Self.malformed) == 1)
            await connection.close()
        }
    }

    private static let malformed = #"carillon_malformed_requests_total{listener="web push"}"#

    @Test func `A page can read over HTTP 2 why its fields or its host are refused, and the connection goes on`()
        async throws
    {
        try await PushedService.run { service in
            let connection = try await connect(service)
            var long = message(service)
            long.headers.append(("x", String(repeating: "a", count: RequestLimits.headerBytes)))
            var elsewhere = message(service)
            elsewhere.headers.append(("host", "elsewhere"))
            let refused = try await connection.send(long)
            #expect(refused.status == 431 && refused["access-control-allow-origin"] == "*")
            #expect(await Self.isAnswered(elsewhere, over: connection) == false)
            #expect(try await service.test.metric(Self.malformed) == 1)
            #expect(try await connection.send(message(service)).status == 201)
            await connection.close()
        }
    }

    @Test func `A client may have 100 requests open`() async throws {
        try await PushedService.run { service in
            let connection = try await connect(service)
            try await connection.announced(100)
            await connection.close()
        }
    }

    @Test func `A body that is too large is 413 before its end`() async throws {
        try await PushedService.run { service in
            let connection = try await connect(service)
            var large = message(service)
            large.body = [UInt8](repeating: 1, count: 4_097)
            #expect(try await connection.send(large, ends: false).status == 413)
            large.body?.removeLast()
            #expect(try await connection.send(large).status == 201)
            await connection.close()
        }
    }

    @Test func `An address beyond its rate is refused whatever it asks for`() async throws {
        try await PushedService.run {
            $0.webPush.limits.requestsPerAddress.burst = 2
            $0.webPush.limits.requestsPerAddress.perSecond = 0.001
        } _: { service in
            #expect(try await service.send(.OPTIONS).status == 204)
            #expect(try await service.send(at: "/elsewhere").status == 404)
            #expect(try await service.send(.OPTIONS).status == 429)
            let refused = try await service.send(at: "/elsewhere")
            #expect(refused.status == 429 && refused["Retry-After"] != nil)
            #expect(refused["Access-Control-Allow-Origin"] == "*")
        }
    }

    @Test func `A page can read the refusal of a request that is malformed`() async throws {
        try await PushedService.run(isHTTP2: false) { service in
            let refused = try await service.send(.RAW(value: "FROB"))
            #expect(refused.status >= 400 && refused["Access-Control-Allow-Origin"] == "*")
        }
    }

    @Test func `The field of a proxy may have a port`() async throws {
        try await PushedService.run(plain: true) {
            $0.webPush.limits.requestsPerAddress.burst = 1
            $0.webPush.limits.requestsPerAddress.perSecond = 0.001
        } _: { service in
            let pairs = [
                ("192.0.2.1", "192.0.2.1:99"), ("2001:db8::1", "[2001:db8::1]:99"), ("192.0.2.2:7", "192.0.2.2"),
            ]
            for (one, other) in pairs {
                let statuses = [try await status(service, one), try await status(service, other)]
                #expect(statuses == [201, 429], "\(one) \(other)")
            }
        }
    }

    private func status(_ service: PushedService, _ forwardedFor: String) async throws -> UInt {
        try await service.send(fields: PushedService.fields + [("X-Forwarded-For", forwardedFor)]).status
    }
}
