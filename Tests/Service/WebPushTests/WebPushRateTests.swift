import Foundation
import NIOHTTP1
import Notifications
import Rates
import Service
import Testing
import WebPush

@testable import ServiceTesting

/// The rates of endpoints and addresses, each of which is 429 with Retry-After.
@Suite(.timeLimit(.minutes(2)))
struct WebPushRateTests {
    private func expectTooMany(_ answer: PushedService.Answer) throws {
        #expect(answer.status == 429, "\(answer.body)")
        let seconds = try #require(answer["Retry-After"].flatMap { Int($0) })
        #expect(seconds >= 1)
    }

    @Test func `An endpoint has a rate, and another endpoint has its own`() async throws {
        try await PushedService.run {
            $0.webPush.limits.messagesPerEndpoint = Rate(burst: 2, perSecond: 0.001)
        } _: { service in
            for _ in 0..<2 { #expect(try await service.send().status == 201) }
            try expectTooMany(try await service.send())
            let (_, other) = try await PushedService.subscribe(service.store, service.test.bundleID)
            #expect(try await service.send(at: other.url(at: service.origin)).status == 201)
            #expect(try await service.send(.GET, fields: []).status == 200, "Discovery does not count for it.")
            try await service.test.metricsSay("web-push-endpoint-rate")
        }
    }

    @Test func `An address has a rate`() async throws {
        try await PushedService.run {
            $0.webPush.limits.requestsPerAddress = Rate(burst: 2, perSecond: 0.001)
        } _: { service in
            for _ in 0..<2 { #expect(try await service.send().status == 201) }
            try expectTooMany(try await service.send())
            try expectTooMany(try await service.send(.GET, fields: []))
            try await service.test.metricsSay("web-push-address-rate")
        }
    }

    @Test func `An address that guesses endpoints may send nothing more`() async throws {
        try await PushedService.run {
            $0.webPush.limits.guessesPerAddress = Rate(burst: 3, perSecond: 0.001)
        } _: { service in
            for number in 0..<3 {
                let unknown = try #require(EndpointID([UInt8](repeating: UInt8(number), count: 32)))
                #expect(try await service.send(at: unknown.url(at: service.origin)).status == 404)
            }
            try expectTooMany(try await service.send())
            try await service.test.metricsSay("web-push-guess-rate")
        }
    }

    @Test func `Behind a proxy the last address of X-Forwarded-For counts`() async throws {
        try await PushedService.run(plain: true) {
            $0.webPush.limits.requestsPerAddress = Rate(burst: 1, perSecond: 0.001)
        } _: { service async throws in
            func send(_ values: String...) async throws -> UInt {
                try await service.send(
                    fields: PushedService.fields + values.map { ("X-Forwarded-For", $0) }
                ).status
            }
            #expect(service.origin.hasPrefix("http://127.0.0.1:"))
            #expect(try await send("192.0.2.1") == 201)
            #expect(try await send("192.0.2.1") == 429)
            #expect(try await send("192.0.2.1, 192.0.2.2") == 201, "The proxy has added the last one.")
            #expect(try await send("192.0.2.9, 192.0.2.2") == 429, "The others are the sender's invention.")
            #expect(try await send("192.0.2.2", "192.0.2.3") == 201)
            #expect(try await send("2001:db8::1") == 201)
            #expect(try await send("2001:db8::2") == 429, "One network.")
            #expect(try await send("nobody") == 201, "Nobody can read this: the proxy's own address counts.")
            #expect(try await send() == 429)
        }
    }

    @Test func `Without a proxy X-Forwarded-For does not count`() async throws {
        try await PushedService.run {
            $0.webPush.limits.requestsPerAddress = Rate(burst: 1, perSecond: 0.001)
        } _: { service in
            for (address, status) in [("192.0.2.1", UInt(201)), ("192.0.2.2", 429)] {
                let answer = try await service.send(fields: PushedService.fields + [("X-Forwarded-For", address)])
                #expect(answer.status == status)
            }
        }
    }
}
