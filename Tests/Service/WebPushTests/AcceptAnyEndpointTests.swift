import Foundation
import NIOHTTP1
import Notifications
import Service
import Testing

@testable import ServiceTesting

/// Endpoints that nobody has made, with `--accept any`.
@Suite(.timeLimit(.minutes(2)))
struct AcceptAnyEndpointTests {
    private static func unknown(_ byte: UInt8) throws -> EndpointID {
        try #require(EndpointID([UInt8](repeating: byte, count: 32)))
    }

    @Test func `Any endpoint is a subscription, whose name is the endpoint`() async throws {
        try await PushedService.run {
            $0.accept = .any
        } _: { service in
            let endpoint = try Self.unknown(5)
            let url = endpoint.url(at: service.origin)
            #expect(try await service.send(.GET, at: url, fields: []).status == 200)
            #expect(try await service.send(at: url).status == 201)
            #expect(try await service.send(at: url, fields: [("TTL", "60")], body: Array("plain".utf8)).status == 201)
            let match = #"{"match":{"subscription":"\#(endpoint.text)","outcome":"delivered"},"count":2}"#
            let waited = try await service.test.manage("POST", "/v1/requests/wait", Data(match.utf8))
            #expect(waited.status == 200, "\(String(decoding: waited.body, as: UTF8.self))")
            #expect(try await service.journal("protocol=webpush").map { $0["text"]?.string } == [nil, "plain"])
            // The rules are as always.
            #expect(try await service.send(at: url, fields: [("Content-Encoding", "aes128gcm")]).status == 400)
            #expect(try await service.send(at: url + "x").status == 404)
        }
    }

    @Test func `Requests that come together make one subscription`() async throws {
        try await PushedService.run {
            $0.accept = .any
        } _: { service in
            let url = try Self.unknown(6).url(at: service.origin)
            try await withThrowingTaskGroup { group in
                for _ in 0..<8 { group.addTask { try await service.send(at: url).status } }
                for try await status in group { #expect(status == 201) }
            }
            #expect(Set(try await service.journal("protocol=webpush").map { $0["device"]?.string }).count == 1)
        }
    }

    @Test func `A fixture that names such an endpoint takes it over`() async throws {
        try await PushedService.run {
            $0.accept = .any
        } _: { service in
            let endpoint = try Self.unknown(7)
            let url = endpoint.url(at: service.origin)
            #expect(try await service.send(at: url).status == 201)
            let subscription = try #require(
                try await service.subscriptions(#""subscriptions":[{"name":"a","endpoint":"\#(url)"}]"#).first)
            #expect(subscription.endpoint == url)
            #expect(try await service.send("mine", to: subscription).status == 201)
            #expect(try await service.journal("subscription=a&text=mine").count == 1)
        }
    }

    @Test func `The endpoint of a device that is removed is 404, and works as before when the device is back`()
        async throws
    {
        try await PushedService.run {
            $0.accept = .any
        } _: { service in
            let url = try Self.unknown(10).url(at: service.origin)
            #expect(try await service.send(at: url).status == 201)
            let device = try #require(try await service.journal("protocol=webpush").first?["device"]?.string)
            func behave(_ kind: String) async throws {
                let change = Data(#"{"behaviour":{"kind":"\#(kind)"}}"#.utf8)
                #expect(try await service.test.manage("PATCH", "/v1/devices/\(device)", change).status == 200)
            }
            try await behave("removed")
            // Nobody else gets the endpoint meanwhile.
            #expect(try await service.send(at: url).status == 404)
            #expect(try await service.send(.GET, at: url, fields: []).status == 404)
            try await behave("online")
            #expect(try await service.send(at: url, fields: [("TTL", "60")], body: Array("back".utf8)).status == 201)
            #expect(try await service.journal("text=back").map { $0["device"]?.string } == [device])
            #expect(try await service.test.manage("DELETE", "/v1/devices/\(device)").status == 200)
            #expect(try await service.send(at: url).status == 201, "A device that was deleted leaves its endpoint.")
        }
    }

    @Test func `Without the option, and for a client that a proxy names, nothing is made`() async throws {
        try await PushedService.run { service in
            let url = try Self.unknown(8).url(at: service.origin)
            #expect(try await service.send(at: url).status == 404)
        }
        try await PushedService.run(plain: true) {
            $0.accept = .any
        } _: { service in
            let url = try Self.unknown(9).url(at: service.origin)
            for (client, status) in [("203.0.113.7", UInt(404)), ("127.0.0.1", 404)] {
                let answer = try await service.send(
                    at: url, fields: PushedService.fields + [("X-Forwarded-For", client)])
                #expect(answer.status == status)
            }
            #expect(try await service.send(at: url).status == 201)
        }
    }
}
