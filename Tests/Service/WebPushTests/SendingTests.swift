import Delivery
import Foundation
import NIOHTTP1
import Notifications
import Service
import Testing

@testable import ServiceTesting

/// Messages over the wire, with HTTP/2 and HTTP/1.1.
@Suite(.timeLimit(.minutes(2)))
struct SendingTests {
    @Test(arguments: [true, false])
    func `A message is stored for a device that is offline, and the answer says what was taken`(
        _ isHTTP2: Bool
    ) async throws {
        try await PushedService.run(isHTTP2: isHTTP2) { service in
            let body = (0..<4096).map { UInt8($0 & 0xff) }
            let answer = try await service.send(
                fields: [
                    ("TTL", "99999999"), ("Urgency", "high"), ("Topic", "t"), ("Content-Encoding", "aes128gcm"),
                    ("Prefer", "respond-async"),
                ], body: body)
            #expect(answer.status == 201, "\(answer.body)")
            #expect(answer.version == (isHTTP2 ? .http2 : .http1_1))
            #expect(answer["TTL"] == "2592000")
            #expect(answer["Location"]?.hasPrefix(service.origin + "/wp/m/") == true)
            #expect(answer["Access-Control-Allow-Origin"] == "*")
            let entries = try await service.waiting()
            let entry = try #require(entries.first?.entry)
            #expect(entries.count == 1 && entry.destination == service.subscription.destination)
            #expect(entry.notification.priority == .immediate && entry.notification.collapseID?.rawValue == "t")
            #expect(entry.notification.countedBytes == 4096)
            #expect(answer["Location"]?.contains(entry.notification.id.description) == false)
        }
    }

    @Test func `A message without a body is one too, and TTL 0 keeps nothing`() async throws {
        try await PushedService.run { service in
            #expect(try await service.send(fields: [("TTL", "60")], body: []).status == 201)
            #expect(try await service.waiting().count == 1)
            let answer = try await service.send(fields: [("TTL", "0"), ("Content-Encoding", "aes128gcm")])
            #expect(answer.status == 201 && answer["TTL"] == "0")
            #expect(try await service.waiting().count == 1)
        }
    }

    @Test(arguments: [true, false])
    func `Beyond 4,096 bytes it is 413, and never below`(_ isHTTP2: Bool) async throws {
        try await PushedService.run(isHTTP2: isHTTP2) { service in
            for (count, status) in [(4096, UInt(201)), (4097, 413), (100_000, 413)] {
                let answer = try await service.send(body: [UInt8](repeating: 7, count: count))
                #expect(answer.status == status, "\(count) \(answer.body)")
            }
            #expect(try await service.send().status == 201, "The connection goes on.")
        }
    }

    @Test func `What is wrong with the fields is said in a problem`() async throws {
        try await PushedService.run { service in
            let none = try await service.send(fields: [("Content-Encoding", "aes128gcm")])
            #expect(
                none.status == 400 && none["content-type"] == "application/problem+json" && none.body.contains("TTL"))
            #expect(try await service.send(fields: [("TTL", "60")]).status == 415)
            #expect(try await service.send(fields: [("TTL", "60"), ("Content-Encoding", "gzip")]).status == 415)
            #expect(try await service.waiting().isEmpty)
        }
    }

    @Test func `Discovery, HEAD and OPTIONS`() async throws {
        try await PushedService.run { service in
            let found = try await service.send(.GET, fields: [])
            #expect(found.status == 200 && found.body == #"{"unifiedpush":{"version":1}}"#)
            #expect(try await service.send(.HEAD, fields: []).status == 200)
            let preflight = try await service.send(
                .OPTIONS, fields: [("Origin", "https://example.com"), ("Access-Control-Request-Method", "POST")])
            #expect(preflight.status == 204 && preflight["access-control-allow-origin"] == "*")
            #expect(preflight["access-control-allow-methods"]?.contains("POST") == true)
            for name in ["ttl", "authorization", "content-encoding", "topic", "urgency", "crypto-key", "encryption"] {
                #expect(preflight["access-control-allow-headers"]?.lowercased().contains(name) == true, "\(name)")
            }
            let other = try await service.send(.PUT, fields: [])
            #expect(other.status == 405 && other["allow"] == "GET, HEAD, OPTIONS, POST")
        }
    }

    @Test func `What does not exist is 404`() async throws {
        try await PushedService.run { service in
            let unknown = try #require(EndpointID([UInt8](repeating: 5, count: 32)))
            for method in [HTTPMethod.POST, .GET, .HEAD] {
                let answer = try await service.send(method, at: unknown.url(at: service.origin))
                #expect(answer.status == 404 && answer["access-control-allow-origin"] == "*")
            }
            let text = service.endpoint.text
            for path in [
                "/", "/wp/", "/wp", "/wp/\(text)/", "/wp/\(text)x", "/wp/\(text.dropLast())", "/wp/\(text)?a=b",
                "//wp/\(text)",
                "/wp/m/\(text)", "/wp/m/" + String(repeating: "A", count: 82), "/health", "/3/device/00",
            ] {
                #expect(
                    try await service.send(at: path).status == (path.hasPrefix("/wp/m/AAAAAAAA") ? 405 : 404), "\(path)"
                )
            }
        }
    }

    @Test func `A subscription that has ended is 404`() async throws {
        try await PushedService.run { service in
            #expect(try await service.send().status == 201)
            _ = try await service.store.endSubscription("an account", of: service.subscription.destination.ofApp)
            #expect(try await service.send().status == 404)
            #expect(try await service.send(.GET, fields: []).status == 404)
        }
    }

    @Test func `A message is withdrawn while it was not delivered, once, and by its own URL alone`() async throws {
        try await PushedService.run { service in
            let kept = try await service.send()
            let location = try #require(try await service.send()["Location"])
            #expect(location != kept["Location"])
            #expect(
                try await service.send(.DELETE, at: String(location.dropLast()) + (location.hasSuffix("A") ? "Q" : "A"))
                    .status == 404)
            #expect(try await service.waiting().count == 2)
            #expect(try await service.send(.DELETE, at: location).status == 204)
            #expect(try await service.waiting().count == 1)
            #expect(try await service.send(.DELETE, at: location).status == 404)
            #expect(try await service.send(.GET, at: location).status == 405)
        }
    }
}
