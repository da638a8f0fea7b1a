import Delivery
import Foundation
import Logging
import Notifications
import Storage
import Synchronization
import Testing
import Trust
import WebPush

/// What becomes of a message to a phone, with an upstream and a store that do what the test says.
struct PhoneForwardingTests {
    private final class World: Forwarding, WebPushBodies, Accounts, DeliveryLog {
        private struct State {
            var pushes: [ForwardedPush] = []
            var bodies: [[UInt8]: KeptBody] = [:]
            var events: [DeliveryEvent] = []
        }

        let current: AccountsSnapshot
        let isCurrent = true
        private let answer: ForwardingAnswer
        private let isFull: Bool
        private let state = Mutex(State())

        init(_ answer: ForwardingAnswer, isFull: Bool = false, template: String?, hasUpstream: Bool = true) throws {
            let team = try #require(TeamID(rawValue: "ABCDE12345"))
            let place = UpstreamPlace(bundleID: try World.bundleID(), environment: .production)
            let settings = try template.map {
                AppWebPush(place: place, template: try WebPushTemplate(text: Array($0.utf8)))
            }
            current = AccountsSnapshot(
                version: 1, teams: [Team(id: team, name: "Team")], apps: [try World.app()],
                upstreams: hasUpstream
                    ? [AppUpstream(place: place, url: "https://one", credentials: .certificate)] : [],
                webPush: settings.map { [$0] } ?? [])
            (self.answer, self.isFull) = (answer, isFull)
        }

        static func bundleID() throws -> BundleID { try #require(BundleID(rawValue: "com.example.app")) }

        static func app() throws -> App {
            App(id: AppID(rawValue: 7), bundleID: try bundleID(), team: try #require(TeamID(rawValue: "ABCDE12345")))
        }

        var pushes: [ForwardedPush] { state.withLock(\.pushes) }
        var bodies: [KeptBody] { state.withLock { Array($0.bodies.values) } }
        var events: [DeliveryEvent] { state.withLock(\.events) }

        func forward(_ pushes: [TicketedPush], to upstream: AppUpstream, answers: any ForwardingAnswers) {
            for push in pushes {
                state.withLock { $0.pushes.append(push.push) }
                if answers.add(answer, to: push.ticket) { answers.answersArrived() }
            }
        }

        func keep(_ body: KeptBody, at now: Timestamp) async throws(StoreError) {
            guard !isFull else { throw .keptBodiesAreFull }
            state.withLock { $0.bodies[body.digest] = body }
        }

        func body(with digest: [UInt8], at now: Timestamp) async throws(StoreError) -> KeptBody? { nil }
        func fetched(_ digest: [UInt8], at now: Timestamp) async throws(StoreError) {}
        func remove(_ digest: [UInt8]) async throws(StoreError) { state.withLock { $0.bodies[digest] = nil } }

        func apply(_ change: AccountChange, to version: UInt64?) async throws(StoreError) -> AccountsSnapshot {
            current
        }
        func changes() -> AsyncStream<AccountsSnapshot> { AsyncStream { _ in } }
        func record(_ event: DeliveryEvent) { state.withLock { $0.events.append(event) } }

        func send(_ message: WebPushMessage, ttl: UInt64 = 60, extra: String? = nil) async throws -> PhoneOutcome {
            let now = Moment(time: Timestamp(milliseconds: 1_000_000), uptime: Uptime(nanoseconds: 0))
            let forwarding = PhoneForwarding(
                port: self, via: [.production: "2 here"], accounts: self, bodies: self, log: self,
                clock: ServiceClock { now }, logger: Logger(label: "test"))
            forwarding.begin(at: "https://push.example.com")
            return await forwarding.send(
                message, NotificationID(high: 1, low: 2), ttl: ttl, extra: extra,
                to: Phone(
                    deviceToken: [9, 9], app: try Self.app(), environment: .production,
                    share: ForwardingShare(rawValue: "grant"), subscription: "an account",
                    owner: [UInt8](repeating: 3, count: 32)))
        }
    }

    private static func answered(_ status: Int, _ reason: String? = nil, retryAfter: Int? = nil) -> ForwardingAnswer {
        var answer = UpstreamAnswer(status: status, reason: reason)
        answer.retryAfter = retryAfter
        return .answered(answer)
    }

    private static let message = WebPushMessage(body: [1, 2, 3], encoding: .aes128gcm, urgency: .low, topic: "t")
    private static let large = WebPushMessage(body: [UInt8](repeating: 7, count: 4096), encoding: .aes128gcm)

    @Test func `A message becomes a notification of the app, and the log has no device token`() async throws {
        let world = try World(Self.answered(200), template: nil)
        #expect(try await world.send(Self.message) == .accepted)
        let push = try #require(world.pushes.first)
        #expect(push.topic == "com.example.app" && push.pushType == "alert" && push.priority == "5")
        #expect(push.expiration == "1060" && push.via == "2 here" && push.share.rawValue == "grant")
        #expect(push.collapseID?.utf8.count == 43 && push.deviceToken == [9, 9] && push.authorization == nil)
        #expect(String(decoding: push.payload, as: UTF8.self).contains(#""body":"AQID""#))
        #expect(world.events.map(\.step) == [.forwarded, .answered(status: 200, reason: nil)])
        #expect(world.events.allSatisfy { $0.subject.address == .deviceToken([UInt8](repeating: 3, count: 32)) })
        #expect(try await world.send(WebPushMessage(body: [], urgency: .normal), ttl: 0) == .accepted)
        let second = try #require(world.pushes.last)
        // At a relay's URL, the same topic of two accounts.
        _ = try await world.send(Self.message, extra: "one")
        _ = try await world.send(Self.message, extra: "two")
        #expect(Set(world.pushes.compactMap(\.collapseID)).count == 3)
        #expect(second.priority == "10" && second.expiration == "0" && second.collapseID == nil)
        #expect(world.bodies.isEmpty)
    }

    @Test(arguments: [
        (answered(410, "Unregistered"), "gone"), (answered(400, "BadDeviceToken"), "gone"),
        (answered(400, "DeviceTokenNotForTopic"), "gone"), (answered(429, "TooManyRequests", retryAfter: 7), "busy"),
        (answered(403, "InvalidProviderToken"), "unavailable"), (answered(400, "BadTopic"), "unavailable"),
        (answered(413, "PayloadTooLarge"), "unavailable"), (answered(500), "unavailable"),
        (.failed("It is off.", mayHaveBeenTaken: false), "unavailable"),
    ])
    func `The sender is told what the upstream said, and a body of a refused one is not kept`(
        _ answer: ForwardingAnswer, _ expected: String
    ) async throws {
        let world = try World(answer, template: nil)
        let outcome = try await world.send(Self.large)
        switch outcome {
        case .accepted: Issue.record("accepted")
        case .gone: #expect(expected == "gone")
        case .busy(let retryAfter): #expect(expected == "busy" && retryAfter == 7)
        case .unavailable: #expect(expected == "unavailable")
        }
        #expect(world.pushes.count == 1 && world.bodies.isEmpty)
    }

    @Test(arguments: [true, false])
    func `The log says forwarded only of what may have reached the upstream`(_ mayHaveBeenTaken: Bool) async throws {
        let world = try World(.failed("It is off.", mayHaveBeenTaken: mayHaveBeenTaken), template: nil)
        _ = try await world.send(Self.message)
        let rejected = DeliveryStep.rejected(.serviceUnavailable)
        #expect(world.events.map(\.step) == (mayHaveBeenTaken ? [.forwarded, rejected] : [rejected]))
    }

    @Test func `A body that does not fit is kept, and the notification has its URL`() async throws {
        let world = try World(Self.answered(200), template: nil)
        #expect(try await world.send(Self.large, ttl: 1) == .accepted)
        let kept = try #require(world.bodies.first)
        #expect(kept.body == Self.large.body && kept.owner == [UInt8](repeating: 3, count: 32))
        #expect(kept.expires == Timestamp(milliseconds: 1_000_000 + 300_000), "Five minutes at least.")
        let push = try #require(world.pushes.first)
        let payload = try #require(JSONValue(push.payload)?.members["webPush"]?.members)
        #expect(payload["body"] == nil && payload["encoding"]?.string == "aes128gcm")
        let url = try #require(payload["fetch"]?.string)
        #expect(url.hasPrefix("https://push.example.com/wp/f/"))
        let id = try #require(EndpointID(url.dropFirst("https://push.example.com/wp/f/".count)))
        #expect(EndpointKey.digest(of: id) == kept.digest)
    }

    @Test func `A body may have been taken with an answer that was lost, so it stays`() async throws {
        let world = try World(.failed("It was cut off.", mayHaveBeenTaken: true), template: nil)
        guard case .unavailable = try await world.send(Self.large) else {
            Issue.record("not unavailable")
            return
        }
        #expect(world.bodies.count == 1)
    }

    @Test func `No notification goes without its body`() async throws {
        for world in [
            try World(Self.answered(200), isFull: true, template: nil),
            try World(Self.answered(200), template: #"{"aps":{},"b":{"$webPush":"body"}}"#),
            try World(Self.answered(200), template: nil, hasUpstream: false),
        ] {
            guard case .unavailable(let detail, _) = try await world.send(Self.large) else {
                Issue.record("not unavailable")
                continue
            }
            #expect(!detail.isEmpty && world.pushes.isEmpty && world.bodies.isEmpty)
        }
        // A template without any part is a notification that something is new.
        let bare = try World(Self.answered(200), template: #"{"aps":{"content-available":1}}"#)
        #expect(try await bare.send(Self.large) == .accepted)
        // One with the URL alone keeps each body.
        let fetching = try World(Self.answered(200), template: #"{"aps":{},"f":{"$webPush":"fetch"}}"#)
        #expect(try await fetching.send(Self.message) == .accepted)
        #expect(fetching.bodies.map(\.body) == [[1, 2, 3]])
    }
}
