import CommonTesting
import APNSDevice
import Foundation
import Notifications
import Service
import Synchronization
import Testing

@testable import ServiceTesting

/// Live Activities over the wire: their device tokens, and a device that shows them (docs/channels.md).
@Suite(.timeLimit(.minutes(3)))
struct LiveActivityJourneyTests {
    private static let activity = "0b1e5b4a-9c0c-4d5e-8f00-0123456789ab"
    private static let topic = "com.example.app.push-type.liveactivity"
    private static let update = #"{"aps":{"timestamp":1800000000,"event":"update","content-state":{"score":1}}}"#

    private static func register(_ device: WireClient, _ activity: String = activity) async throws -> String {
        let path = "/1/apps/com.example.app/liveactivity/\(activity)"
        let answer = try await device.send(TestService.deviceHeaders("PUT", path), body: "")
        #expect(answer.status == 200, "\(answer.body)")
        return try required(JSONDecoder().decode([String: String].self, from: Data(answer.body.utf8))["token"])
    }

    private static func headers(_ token: String, _ jwt: String, topic: String = topic) -> ProviderHeaders {
        ProviderHeaders(token, topic: topic, token: jwt).with("apns-push-type", "liveactivity")
    }

    @Test func `A Live Activity's device token reaches it and nothing else`() async throws {
        try await TestService.run { test in
            let device = try await test.connectRegistered().client
            let stream = try await device.listen()
            let token = try await Self.register(device)
            #expect(token.count == 160)
            let provider = try await test.connectProvider()
            let jwt = try test.providerToken()
            #expect(try await provider.send(Self.headers(token, jwt).fields, body: Self.update).status == 200)
            let line = try required(await stream.nextLine())
            #expect(line.contains(#""activity":"\#(Self.activity)""#))
            #expect(line.contains(#""pushType":"liveactivity""#))
            let wrong = try await provider.send(
                ProviderHeaders(token, topic: "com.example.app", token: jwt).fields, body: #"{"aps":{}}"#)
            #expect((wrong.status, wrong.reason) == (400, "DeviceTokenNotForTopic"))
            // The token to start one has no activity.
            let start = try await device.send(
                TestService.deviceHeaders("PUT", "/1/apps/com.example.app/liveactivity"), body: "")
            let startToken = try required(
                JSONDecoder().decode([String: String].self, from: Data(start.body.utf8))["token"])
            #expect(try await provider.send(Self.headers(startToken, jwt).fields, body: Self.update).status == 200)
            let started = try required(await stream.nextLine())
            #expect(started.contains("activity\":") == false)
            #expect(started.contains(#""startToken":true,"#))
            // Nor has the app's own token, which reaches all of its topics.
            let registered = try await device.send(
                TestService.deviceHeaders("PUT", "/1/apps/com.example.app"), body: "")
            let ownToken = try required(
                JSONDecoder().decode([String: String].self, from: Data(registered.body.utf8))["token"])
            #expect(try await provider.send(Self.headers(ownToken, jwt).fields, body: Self.update).status == 200)
            let own = try required(await stream.nextLine())
            #expect(!own.contains("activity\":") && !own.contains("startToken"))
            _ = try await device.send(TestService.deviceHeaders("DELETE", "/1/apps/com.example.app"), body: "")
            let gone = try await provider.send(Self.headers(token, jwt).fields, body: Self.update)
            #expect((gone.status, gone.reason) == (410, "Unregistered"))
            for client in [device, provider] { await client.close() }
        }
    }

    @Test func `A stored update is still for its Live Activity after a restart`() async throws {
        try await TestService.runTwice { test in
            let (device, certificate) = try await test.connectRegistered()
            let token = try await Self.register(device)
            await device.close()
            let provider = try await test.connectProvider()
            let answer = try await provider.send(
                Self.headers(token, try test.providerToken()).fields, body: Self.update)
            #expect(answer.status == 200)
            await provider.close()
            return certificate
        } _: { test, certificate in
            let device = try await test.connectCourier(certificate)
            let line = try required(await device.listen().nextLine())
            #expect(line.contains(#""activity":"\#(Self.activity)""#))
            #expect(line.contains(#""pushType":"liveactivity""#))
            await device.close()
        }
    }

    @Test func `After twelve hours the token has expired`() async throws {
        try await TestService.run {
            $0.clock = .virtual
        } _: { test in
            let device = try await test.connectRegistered().client
            let token = try await Self.register(device)
            let provider = try await test.connectProvider()
            _ = try await test.ask("POST", "/v1/clock", body: #"{"advance":"PT11H59M"}"#)
            // A provider token of the time before would have expired.
            let headers = Self.headers(token, try test.providerToken())
            #expect(try await provider.send(headers.fields, body: Self.update).status == 200)
            _ = try await test.ask("POST", "/v1/clock", body: #"{"advance":"PT1M"}"#)
            let expired = try await provider.send(headers.fields, body: Self.update)
            #expect((expired.status, expired.reason) == (410, "ExpiredToken"))
            #expect(expired.body.contains(#""timestamp":"#))
            for client in [device, provider] { await client.close() }
        }
    }

    @Test func `The management API says the same time of an expired token as the provider API`() async throws {
        func timestamp(_ answer: String) throws -> Substring {
            try required(answer.firstMatch(of: /"timestamp":(\d+)/)).1
        }
        try await TestService.run {
            $0.clock = .virtual
        } _: { test in
            _ = try await test.ask("POST", "/v1/clock", body: #"{"advance":"PT1H"}"#)
            let device = try await test.connectRegistered().client
            let token = try await Self.register(device)
            _ = try await test.ask("POST", "/v1/clock", body: #"{"advance":"PT13H"}"#)
            let provider = try await test.connectProvider()
            let expired = try await provider.send(
                Self.headers(token, try test.providerToken()).fields, body: Self.update)
            let address = #""token":"\#(token)","topic":"\#(Self.topic)","pushType":"liveactivity""#
            let direct = try await test.ask(
                "POST", "/v1/notifications", body: #"{\#(address),"payload":\#(Self.update)}"#)
            #expect(direct.text.contains("ExpiredToken"), "\(direct.text)")
            #expect(try timestamp(direct.text) == timestamp(expired.body))
            for client in [device, provider] { await client.close() }
        }
    }

    @Test func `Only a UUID names a Live Activity, and only of this service`() async throws {
        try await TestService.run { test in
            let device = try await test.connectRegistered().client
            for (method, path, status) in [
                ("PUT", "/1/apps/com.example.app/liveactivity/one", 404),
                ("PUT", "/1/apps/com.example.app/liveactivity/", 404),
                ("PUT", "/1/apps/com.example.app/voip/\(Self.activity)", 404),
                ("DELETE", "/1/apps/com.example.app/liveactivity/\(Self.activity)", 405),
                ("PUT", "/1/apps/com.example.none/liveactivity/\(Self.activity)", 400),
            ] {
                let answer = try await device.send(TestService.deviceHeaders(method, path), body: "")
                #expect(answer.status == status, "\(path)")
            }
            await device.close()
        }
    }

    // MARK: A device that shows them

    /// Collects the events of a device's system.
    private final class Events: Sendable {
        private let (stream, continuation) = AsyncStream.makeStream(of: DeviceSystem.Event.self)
        private let reasons = Mutex<[DropReason]>([])

        /// Why pushes were dropped so far.
        var dropped: [DropReason] { reasons.withLock { $0 } }

        func add(_ event: DeviceSystem.Event) {
            if case .dropped(_, let reason) = event { reasons.withLock { $0.append(reason) } }
            continuation.yield(event)
        }

        /// The next change of a Live Activity, or the token of one.
        func next() async throws -> (LiveActivity, LiveActivity.Change?, token: String?) {
            for await event in stream {
                switch event {
                case .activity(let activity, let change): return (activity, change, nil)
                case .activityRegistered(let activity, let token): return (activity, nil, token)
                default: continue
                }
            }
            throw CancellationError()
        }
    }

    private struct EmptyApp: App {}

    private static func run(
        _ body: (TestService, Device, Events) async throws -> Void
    ) async throws {
        try await TestService.run { test in
            let events = Events()
            let system = DeviceSystem(report: { events.add($0) })
            let identity = try await APNSDevice.DeviceIdentity.activate(
                at: test.courier, environment: test.environment)
            let device = try Device(identity, at: test.courier, delegate: system)
            await system.use(device)
            await system.install(test.bundleID, EmptyApp(), wasLaunched: true)
            let running = Task { try await device.run() }
            _ = try await device.register(test.bundleID)
            try await body(test, device, events)
            await device.close()
            try await running.value
        }
    }

    private static func start(_ more: String) -> String {
        #"{"aps":{"timestamp":1800000000,"event":"start","attributes-type":"Match","attributes":{"home":"A"},"#
            + #""content-state":{"score":0},"alert":{"title":"Kick-off"},\#(more)}}"#
    }

    @Test func `A push starts a Live Activity, its token updates it, and it ends`() async throws {
        try await Self.run { test, device, events in
            let provider = try await test.connectProvider()
            let jwt = try test.providerToken()
            let startToken = try await device.register(test.bundleID, for: .liveActivity)
            let started = try await provider.send(
                Self.headers(startToken, jwt).fields, body: Self.start(#""input-push-token":1"#))
            #expect(started.status == 200)
            let (activity, change, _) = try await events.next()
            #expect(change == .started)
            let registered = try await events.next()
            let token = try required(registered.token)
            #expect(registered.0.id == activity.id)
            #expect(try await provider.send(Self.headers(token, jwt).fields, body: Self.update).status == 200)
            let updated = try await events.next()
            #expect(updated.1 == .updated)
            #expect(String(decoding: updated.0.contentState, as: UTF8.self) == #"{"score":1}"#)
            let end = #"{"aps":{"timestamp":1800000001,"event":"end","dismissal-date":1}}"#
            #expect(try await provider.send(Self.headers(token, jwt).fields, body: end).status == 200)
            #expect(try await events.next().1 == .dismissed)
            await provider.close()
        }
    }

    @Test func `An update and an end with the token that starts Live Activities are ignored`() async throws {
        try await Self.run { test, device, events in
            let provider = try await test.connectProvider()
            let jwt = try test.providerToken()
            let startToken = try await device.register(test.bundleID, for: .liveActivity)
            let ownToken = try await device.register(test.bundleID)
            func send(_ body: String, _ token: String) async throws {
                #expect(try await provider.send(Self.headers(token, jwt).fields, body: body).status == 200)
            }
            try await send(Self.start(#""relevance-score":1"#), startToken)
            #expect(try await events.next().1 == .started)
            try await send(Self.update, startToken)
            try await send(#"{"aps":{"timestamp":1800000001,"event":"end","dismissal-date":1}}"#, startToken)
            try await send(
                #"{"aps":{"timestamp":1800000000,"event":"update","content-state":{"score":7}}}"#, ownToken)
            let (activity, change, _) = try await events.next()
            #expect(change == .updated)
            #expect(String(decoding: activity.contentState, as: UTF8.self) == #"{"score":7}"#)
            #expect(events.dropped == [.cannotUpdate, .cannotUpdate])
            await provider.close()
        }
    }

    @Test func `A push that waited still has the token that it used`() async throws {
        try await TestService.runTwice { test in
            let (device, certificate) = try await test.connectRegistered()
            let answer = try await device.send(
                TestService.deviceHeaders("PUT", "/1/apps/com.example.app/liveactivity"), body: "")
            let token = try required(
                JSONDecoder().decode([String: String].self, from: Data(answer.body.utf8))["token"])
            await device.close()
            let provider = try await test.connectProvider()
            let headers = Self.headers(token, try test.providerToken())
            #expect(try await provider.send(headers.fields, body: Self.update).status == 200)
            await provider.close()
            return certificate
        } _: { test, certificate in
            let device = try await test.connectCourier(certificate)
            let line = try required(await device.listen().nextLine())
            #expect(line.contains(#""startToken":true"#))
            #expect(line.contains(#""pushType":"liveactivity""#))
            await device.close()
        }
    }

    @Test func `A push starts a Live Activity that a channel updates`() async throws {
        try await Self.run { test, device, events in
            let channel = try await test.makeChannel()
            let provider = try await test.connectProvider()
            let jwt = try test.providerToken()
            let startToken = try await device.register(test.bundleID, for: .liveActivity)
            let started = try await provider.send(
                Self.headers(startToken, jwt).fields, body: Self.start(#""input-push-channel":"\#(channel)""#))
            #expect(started.status == 200)
            #expect(try await events.next().1 == .started)
            try await test.waitForSubscribers(1, of: channel)
            var headers = ChannelHeaders(broadcastTo: channel, token: jwt)
            headers.body = Self.update
            #expect(try await provider.send(headers.fields, body: headers.body).status == 200)
            let updated = try await events.next()
            #expect(updated.1 == .updated)
            #expect(updated.0.updates == .channel(channel))
            headers.body = #"{"aps":{"timestamp":1800000001,"event":"end","content-state":{"score":2}}}"#
            #expect(try await provider.send(headers.fields, body: headers.body).status == 200)
            #expect(try await events.next().1 == .ended)
            // Nothing is shown for the channel any more.
            try await test.waitForSubscribers(0, of: channel)
            await provider.close()
        }
    }

    @Test func `A Live Activity that follows another one of the same channel at once gets the updates`() async throws {
        try await Self.run { test, device, events in
            let channel = try await test.makeChannel(keepsNewest: true)
            let provider = try await test.connectProvider()
            let jwt = try test.providerToken()
            let startToken = try await device.register(test.bundleID, for: .liveActivity)
            let ownToken = try await device.register(test.bundleID)
            let start = Self.start(#""input-push-channel":"\#(channel)""#)
            let end = #"{"aps":{"timestamp":1800000000,"event":"end","dismissal-date":1}}"#
            for body in [start, end, start, end, start, end, start] {
                let token = body == start ? startToken : ownToken
                #expect(try await provider.send(Self.headers(token, jwt).fields, body: body).status == 200)
                #expect(try await events.next().1 == (body == start ? .started : .dismissed))
            }
            var headers = ChannelHeaders(broadcastTo: channel, token: jwt)
            headers.body = Self.update
            #expect(try await provider.send(headers.fields, body: headers.body).status == 200)
            #expect(try await events.next().1 == .updated)
            await provider.close()
        }
    }
}
