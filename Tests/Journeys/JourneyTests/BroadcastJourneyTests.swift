import CommonTesting
import Delivery
import Foundation
import Notifications
import Rates
import Service
import Testing

@testable import ServiceTesting

/// Broadcasts and subscriptions over the wire (docs/channels.md).
@Suite(.timeLimit(.minutes(5)))
struct BroadcastJourneyTests {
    private static let id = "8b1e5b4a-9c0c-4d5e-8f00-0123456789ab"

    /// A line of a device's stream.
    private struct Line: Decodable {
        var sending: Int
        var id: String
        var topic: String
        var bundleID: String
        var channel: String?
        var priority: Int
        var pushType: String?
        var payload: JSONValue
    }

    private static func next(_ stream: WireClient.Open) async throws -> Line {
        try JSONDecoder().decode(Line.self, from: Data(try required(await stream.nextLine()).utf8))
    }

    @Test(arguments: [false, true])
    func `A broadcast reaches every connected subscriber with the same line`(keepsNewest: Bool) async throws {
        try await TestService.run { test in
            let channel = try await test.makeChannel(keepsNewest: keepsNewest)
            var streams: [(WireClient, WireClient.Open)] = []
            for _ in 0..<3 {
                let device = try await test.connectRegistered().client
                let stream = try await device.listen()
                #expect(try await device.subscribe(to: channel).status == 204)
                streams.append((device, stream))
            }
            // The last device ends its subscription.
            #expect(try await streams[2].0.subscribe(to: channel, "DELETE").status == 204)
            try await test.waitForSubscribers(2, of: channel)
            let provider = try await BroadcastProvider(test)
            let answer = try await provider.broadcast(to: channel) { $0.set("apns-request-id", Self.id) }
            #expect(answer.status == 200)
            #expect(answer.headers["apns-request-id"] == [Self.id])
            #expect(answer.headers["apns-unique-id"] == [Self.id])
            #expect(answer.headers["apns-id"] == nil)
            let first = try required(await streams[0].1.nextLine())
            #expect(try await streams[1].1.nextLine() == first)
            let line = try JSONDecoder().decode(Line.self, from: Data(first.utf8))
            #expect(line.id == Self.id)
            #expect((line.topic, line.bundleID) == ("com.example.app.push-type.liveactivity", "com.example.app"))
            #expect((line.channel, line.priority, line.pushType) == (channel, 10, "liveactivity"))
            #expect(line.payload.text == #"{"aps":{"content-state":{"score":1},"event":"update"}}"#)
            #expect(try await streams[0].0.acknowledge([line.sending]).status == 204)
            for (client, _) in streams { await client.close() }
            await provider.client.close()
        }
    }

    @Test func `A broadcast to a channel that stores nothing reaches only connected devices`() async throws {
        try await TestService.run { test in
            let channel = try await test.makeChannel()
            let (device, certificate) = try await test.connectRegistered()
            #expect(try await device.subscribe(to: channel).status == 204)
            let provider = try await BroadcastProvider(test)
            #expect(try await provider.broadcast(to: channel, score: 1).status == 200)
            await device.close()
            let again = try await test.connectCourier(certificate)
            let stream = try await again.listen()
            try await test.waitForSubscribers(1, of: channel)
            #expect(try await provider.broadcast(to: channel, score: 2).status == 200)
            #expect(try await Self.next(stream).payload.text.contains(#""score":2"#))
            await again.close()
            await provider.client.close()
        }
    }

    @Test func `A channel stores the newest broadcast for devices that come later, once for each device`() async throws
    {
        try await TestService.run { test in
            let channel = try await test.makeChannel(keepsNewest: true)
            let provider = try await BroadcastProvider(test)
            let (device, certificate) = try await test.connectRegistered()
            #expect(try await device.subscribe(to: channel).status == 204)
            for score in 1...2 { #expect(try await provider.broadcast(to: channel, score: score).status == 200) }
            let line = try await Self.next(try await device.listen())
            #expect(line.payload.text.contains(#""score":2"#))
            #expect(try await device.acknowledge([line.sending]).status == 204)
            await device.close()
            // The device has acknowledged that one, and gets the next.
            try await test.waitForSubscribers(0, of: channel)
            let again = try await test.connectCourier(certificate)
            let stream = try await again.listen()
            try await test.waitForSubscribers(1, of: channel)
            #expect(try await provider.broadcast(to: channel, score: 3).status == 200)
            #expect(try await Self.next(stream).payload.text.contains(#""score":3"#))
            // A device that subscribes while it is connected gets the stored broadcast too.
            let other = try await test.connectRegistered().client
            let late = try await other.listen()
            #expect(try await other.subscribe(to: channel).status == 204)
            #expect(try await Self.next(late).payload.text.contains(#""score":3"#))
            for client in [again, other, provider.client] { await client.close() }
        }
    }

    @Test func `Stored broadcasts and acknowledgements survive a restart`() async throws {
        try await TestService.runTwice { test in
            let channel = try await test.makeChannel(keepsNewest: true)
            let provider = try await BroadcastProvider(test)
            let (device, certificate) = try await test.connectRegistered()
            let (other, otherCertificate) = try await test.connectRegistered()
            for device in [device, other] { #expect(try await device.subscribe(to: channel).status == 204) }
            let stream = try await device.listen()
            #expect(try await provider.broadcast(to: channel, score: 1).status == 200)
            #expect(try await device.acknowledge([try await Self.next(stream).sending]).status == 204)
            for client in [device, other, provider.client] { await client.close() }
            return (channel, certificate, otherCertificate)
        } _: { test, kept in
            let (channel, certificate, otherCertificate) = kept
            let other = try await test.connectCourier(otherCertificate)
            #expect(try await Self.next(try await other.listen()).payload.text.contains(#""score":1"#))
            let device = try await test.connectCourier(certificate)
            let stream = try await device.listen()
            try await test.waitForSubscribers(2, of: channel)
            let provider = try await BroadcastProvider(test)
            #expect(try await provider.broadcast(to: channel, score: 2).status == 200)
            #expect(try await Self.next(stream).payload.text.contains(#""score":2"#))
            for client in [device, other, provider.client] { await client.close() }
        }
    }

    @Test func `An expired broadcast is not stored, and neither is one with expiration 0`() async throws {
        try await TestService.run { test in
            let channel = try await test.makeChannel(keepsNewest: true)
            let provider = try await BroadcastProvider(test)
            for expiration in ["0", "1"] {
                let answer = try await provider.broadcast(to: channel) { $0.set("apns-expiration", expiration) }
                #expect(answer.status == 200)
            }
            let device = try await test.connectRegistered().client
            let stream = try await device.listen()
            #expect(try await device.subscribe(to: channel).status == 204)
            try await test.waitForSubscribers(1, of: channel)
            #expect(try await provider.broadcast(to: channel, score: 7).status == 200)
            #expect(try await Self.next(stream).payload.text.contains(#""score":7"#))
            for client in [device, provider.client] { await client.close() }
        }
    }

    @Test func `A broadcast that is not stored leaves the stored one for devices that come later`() async throws {
        try await TestService.run { test in
            let channel = try await test.makeChannel(keepsNewest: true)
            let provider = try await BroadcastProvider(test)
            #expect(try await provider.broadcast(to: channel, score: 3).status == 200)
            for expiration in ["0", "1"] {
                let answer = try await provider.broadcast(to: channel, score: 4) {
                    $0.set("apns-expiration", expiration)
                }
                #expect(answer.status == 200)
            }
            let device = try await test.connectRegistered().client
            let stream = try await device.listen()
            #expect(try await device.subscribe(to: channel).status == 204)
            #expect(try await Self.next(stream).payload.text.contains(#""score":3"#))
            #expect(try await provider.broadcast(to: channel, score: 7).status == 200)
            #expect(try await Self.next(stream).payload.text.contains(#""score":7"#))
            for client in [device, provider.client] { await client.close() }
        }
    }

    @Test func `A subscription ends with the app and with the channel`() async throws {
        try await TestService.run { test in
            let channel = try await test.makeChannel()
            let device = try await test.connectRegistered().client
            _ = try await device.listen()
            #expect(try await device.subscribe(to: channel).status == 204)
            try await test.waitForSubscribers(1, of: channel)
            _ = try await device.send(TestService.deviceHeaders("DELETE", "/1/apps/com.example.app"), body: "")
            try await test.waitForSubscribers(0, of: channel)
            let ended = try await device.subscribe(to: channel)
            #expect((ended.status, ended.reason) == (410, "Unregistered"))
            _ = try await device.send(TestService.deviceHeaders("PUT", "/1/apps/com.example.app"), body: "")
            #expect(try await device.subscribe(to: channel).status == 204)
            try await test.waitForSubscribers(1, of: channel)
            let channels = try await test.connectChannels()
            _ = try await channels.send(
                ChannelHeaders("DELETE", token: try test.providerToken(), channel: channel).fields, body: "")
            try await test.waitForSubscribers(0, of: channel)
            for client in [device, channels] { await client.close() }
        }
    }

    @Test func `An invalid subscription is refused with its reason`() async throws {
        try await TestService.run {
            $0.channels.subscriptionsPerApp = 1
        } _: { test in
            let (first, second) = (try await test.makeChannel(), try await test.makeChannel())
            let device = try await test.connectRegistered().client
            #expect(try await device.subscribe(to: first).status == 204)
            #expect(try await device.subscribe(to: first.replacing("=", with: "%3D")).status == 204)
            for (channel, app, status, reason) in [
                (second, "com.example.app", 429, "TooManyRequests"),
                (ChannelHeaders.unknown, "com.example.app", 400, "ChannelNotRegistered"),
                ("none", "com.example.app", 400, "ChannelNotRegistered"),
                ("not-base64", "com.example.app", 400, "BadChannelId"),
                ("%", "com.example.app", 400, "BadChannelId"),
                (second, "com.example.other", 400, "BadTopic"),
            ] {
                let answer = try await device.subscribe(to: channel, app: app)
                #expect((answer.status, answer.reason) == (status, reason), "\(channel)")
            }
            let wrong = try await device.subscribe(to: first, "POST")
            #expect((wrong.status, wrong.reason) == (405, "MethodNotAllowed"))
            let stranger = try await test.connectCourier()
            #expect(try await stranger.subscribe(to: first).reason == "Forbidden")
            for client in [device, stranger] { await client.close() }
        }
    }

    @Test func `A device that does not acknowledge gets the newest broadcast after it has caught up`() async throws {
        try await TestService.run {
            $0.channels.unacknowledgedPerDevice = 2
        } _: { test in
            let channel = try await test.makeChannel(keepsNewest: true)
            let device = try await test.connectRegistered().client
            let stream = try await device.listen()
            #expect(try await device.subscribe(to: channel).status == 204)
            try await test.waitForSubscribers(1, of: channel)
            let provider = try await BroadcastProvider(test)
            for score in 1...5 { #expect(try await provider.broadcast(to: channel, score: score).status == 200) }
            let lines = [try await Self.next(stream), try await Self.next(stream)]
            #expect(try await device.acknowledge(lines.map(\.sending)).status == 204)
            #expect(try await Self.next(stream).payload.text.contains(#""score":5"#))
            for client in [device, provider.client] { await client.close() }
        }
    }

    /// Sends each score to each channel.
    private static func send(
        _ scores: ClosedRange<Int>, to channels: [String], from provider: BroadcastProvider
    ) async throws {
        for score in scores {
            for channel in channels { #expect(try await provider.broadcast(to: channel, score: score).status == 200) }
        }
    }

    @Test func `A device that subscribes while broadcasts flow, and falls behind, ends with the newest`() async throws {
        try await TestService.run {
            $0.channels.unacknowledgedPerDevice = 2
        } _: { test in
            let (kept, passing) = (try await test.makeChannel(keepsNewest: true), try await test.makeChannel())
            let device = try await test.connectRegistered().client
            let stream = try await device.listen()
            let provider = try await BroadcastProvider(test)
            let last = 50
            async let sent: Void = Self.send(1...last, to: [passing, kept], from: provider)
            for channel in [passing, kept] { #expect(try await device.subscribe(to: channel).status == 204) }
            while true {
                let line = try await Self.next(stream)
                #expect(try await device.acknowledge([line.sending]).status == 204)
                // The broadcasts to the other channel take room that this one then does not have.
                if line.channel == kept, line.payload.text.contains(#""score":\#(last)"#) { break }
            }
            try await sent
            for client in [device, provider.client] { await client.close() }
        }
    }

    @Test func `The delivery log records a broadcast once, whatever the number of devices`() async throws {
        struct Entry: Decodable {
            let event: String
            let topic: String
            let token: String?
        }
        try await TestService.run { test in
            let channel = try await test.makeChannel(keepsNewest: true)
            var devices: [WireClient] = []
            for _ in 0..<2 {
                let device = try await test.connectRegistered().client
                _ = try await device.listen()
                #expect(try await device.subscribe(to: channel).status == 204)
                devices.append(device)
            }
            try await test.waitForSubscribers(2, of: channel)
            let provider = try await BroadcastProvider(test)
            for wrong in [false, true] {
                _ = try await provider.broadcast(to: channel) {
                    $0.set("apns-request-id", Self.id)
                    if wrong { $0.set("apns-priority", "none") }
                }
            }
            let answer = try await test.manage("GET", "/v1/log?id=\(Self.id)")
            let entries = try String(decoding: answer.body, as: UTF8.self).split(separator: "\n").map {
                try JSONDecoder().decode(Entry.self, from: Data($0.utf8))
            }
            #expect(entries.map(\.event) == ["accepted", "stored", "sent", "rejected"])
            #expect(entries.allSatisfy { $0.topic == "com.example.app.push-type.liveactivity" && $0.token == nil })
            for client in devices + [provider.client] { await client.close() }
        }
    }
}
