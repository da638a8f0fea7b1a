import Foundation
import NIOCore
import NIOHTTP1
import NIOPosix
import Notifications
import Testing

@testable import CampaignStore
@testable import ProviderServer
@testable import ServiceTesting

/// Requests that wait for the end of a message, its total, and what becomes of device tokens of the other environment.
@Suite(.timeLimit(.minutes(3))) struct MessageWaitTests {
    private static func send(_ shop: TestShop, _ wait: String, _ more: String = "") async throws -> TestProvider.Answer
    {
        try await shop.provider.ask(
            .POST, "/v1/messages?wait=\(wait)",
            #"{"audience":{"everybody":true},"payload":{"aps":{"alert":"x"}}\#(more)}"#, key: shop.serverKey)
    }

    @Test func `An answer that waits has the outcomes`() async throws {
        try await TestShop.run(devices: [nil, nil, #"{"kind":"removed"}"#]) { shop in
            try await shop.register()
            let answer = try await Self.send(shop, "PT30S")
            #expect(answer.status == 200 && answer["state"] == "finished" && answer["total"] == 3)
            #expect(answer["outcomes", "0", "installation"] == "i0" && answer["outcomes", "0", "status"] == 200)
            #expect(answer["outcomes", "2", "reason"] == "Unregistered" && answer["outcomes", "3"] == nil)
            #expect(try answer.headers.first(name: "location") == "/v1/messages/" + answer.text("id"))
        }
    }

    @Test func `A message that does not end in time is answered as it is`() async throws {
        try await TestShop.run(devices: [nil]) { shop in
            try await shop.register()
            let later = Timestamp(milliseconds: ProviderClock.system.now().milliseconds + 3_600_000).text
            let answer = try await Self.send(shop, "PT0.1S", #","sendAt":"\#(later)""#)
            #expect(answer.status == 202 && answer["state"] == "scheduled" && answer["outcomes"] == .array([]))
            for wait in ["5", "PT", "PT31S", "P1Y"] {
                #expect(try await Self.send(shop, wait).status == 400, "\(wait)")
            }
        }
    }

    /// Ends every connection at once.
    private final class Closing: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer
        private let attempts: AsyncStream<Void>.Continuation

        init(_ attempts: AsyncStream<Void>.Continuation) { self.attempts = attempts }

        func channelActive(context: ChannelHandlerContext) {
            attempts.yield()
            context.close(promise: nil)
        }
    }

    @Test func `A running message knows how many recipients it has, and why it waits`() async throws {
        let (attempts, continuation) = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))
        let service = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(Closing(continuation))
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        defer { service.close(promise: nil) }
        let url = JSONValue.string("https://127.0.0.1:\(try #require(service.localAddress?.port))")
        try await TestShop.run(devices: [nil, nil]) {
            $0.deadline = .seconds(1)
            $0.clock = CampaignTroubleTests.impatient
        } _: { shop in
            try await shop.register()
            let app: JSONValue = [
                "teamID": "ABCDE12345", "environments": ["development": ["url": url]],
            ]
            _ = try await shop.provider.ask(.PUT, "/v1/apps/\(TestShop.bundleID)", app.text)
            let id = try await shop.send()
            let waiting = try await shop.provider.message(id) { $0["cause"] != nil && $0["total"] != nil }
            #expect(waiting["total"] == 2 && waiting["state"] == "running" && waiting["accepted"] == 0)
            // The cause stays while the server tries to connect again and again.
            for await _ in attempts.prefix(3) {
                #expect(try await shop.provider.ask(.GET, "/v1/messages/\(id)")["cause"] != nil)
            }
            let list = try await shop.provider.ask(.GET, "/v1/messages", key: shop.serverKey)
            #expect(list["items", "0", "cause"] != nil)
        }
    }

    /// An app whose environments are both the same server.
    private static func addProduction(_ shop: TestShop) async throws {
        let path = "/v1/apps/\(TestShop.bundleID)"
        let shown = try await shop.provider.ask(.GET, path)
        guard let url = shown["environments", "development", "url"],
            let authority = shown["environments", "development", "authority"]
        else { return try #require(Bool(false)) }
        let key: JSONValue = ["keyID": "KEY1234567", "privateKey": .string(shop.signingKey)]
        let place: JSONValue = ["url": url, "authority": authority, "key": key]
        let app: JSONValue = [
            "teamID": "ABCDE12345", "environments": ["development": place, "production": place],
        ]
        try #require(try await shop.provider.ask(.PUT, path, app.text).status == 200)
    }

    private static func rehearse(_ shop: TestShop, _ when: String) async throws {
        let answer = try await shop.carillon.ask(
            "POST", "/v1/rehearsals",
            body: #"{"seed":7,"rules":[{\#(when)"fault":{"answer":{"reason":"BadDeviceToken"}}}]}"#)
        try #require(answer.status == 200, "\(answer.text)")
    }

    @Test func `A message whose first answers are nearly all BadDeviceToken pauses`() async throws {
        let count = ProviderServerLimits.fewestAnswers + 5
        try await TestShop.run(devices: Array(repeating: nil, count: count)) { shop in
            try await shop.register()
            try await Self.rehearse(shop, "")
            let message = try await shop.provider.finished(try await shop.send())
            #expect(message["state"] == "paused")
            #expect(try message.text("cause").contains("the other environment's"))
            // A person who knows better resumes it.
            let id = try message.text("id")
            _ = try await shop.provider.ask(.POST, "/v1/messages/\(id)/resume", key: shop.serverKey)
            let resumed = try await shop.provider.finished(id)
            #expect(resumed["failedByReason"] == ["BadDeviceToken": .integer(Int64(count))])
        }
    }

    @Test func `A recipient whose device token is bad is tried once in the other environment`() async throws {
        try await TestShop.run(devices: [nil, nil]) { shop in
            try await Self.addProduction(shop)
            try await shop.register()
            try await Self.rehearse(shop, #""when":{"first":1},"match":{"token":"\#(shop.tokens[0])"},"#)
            let message = try await shop.provider.finished(try await shop.send())
            #expect(message["accepted"] == 2 && message["failed"] == 0, "\(message.body.text)")
            #expect(try await shop.received().count == 3)
            let moved = try await shop.provider.ask(.GET, "/v1/installations/i0", key: shop.serverKey)
            #expect(moved["environment"] == "production")
            let other = try await shop.provider.ask(.GET, "/v1/installations/i1", key: shop.serverKey)
            #expect(other["environment"] == "development")
        }
    }
}
