import Delivery
import DeliveryTesting
import Notifications
import SQLiteStore
import Storage
import Synchronization
import Testing

@testable import Upstream

/// What is sent of held notifications, and what is not sent any more.
@Suite(.timeLimit(.minutes(1))) struct HeldSenderTests {
    /// An upstream that gives every notification the same answer.
    private final class AnsweringUpstream: Forwarding {
        let ids = Mutex<[String]>([])
        private let answer: Mutex<UpstreamAnswer>

        init(_ answer: UpstreamAnswer) { self.answer = Mutex(answer) }

        func accept() { answer.withLock { $0 = UpstreamAnswer(status: 200) } }

        func forward(_ pushes: [TicketedPush], to upstream: AppUpstream, answers: any ForwardingAnswers) {
            ids.withLock { $0 += pushes.map(\.push.id) }
            let answer = self.answer.withLock(\.self)
            let isAny = pushes.map { answers.add(.answered(answer), to: $0.ticket) }.contains(true)
            if isAny { answers.answersArrived() }
        }
    }

    private let store: SQLiteStore
    private let log = RecordingLog()
    private let place: UpstreamPlace
    private let team: Team

    init() async throws {
        store = try .inMemory()
        let bundleID = try #require(BundleID(rawValue: "com.example.app"))
        place = UpstreamPlace(bundleID: bundleID, environment: .development)
        team = Team(id: try #require(TeamID(rawValue: "TEAM000001")), name: "Team")
        try await makeApp(of: team)
    }

    private func makeApp(of team: Team) async throws {
        _ = try await store.apply(.createTeam(team))
        _ = try await store.apply(.createApp(bundleID: place.bundleID, team: team.id))
        let credentials = AppUpstream.Credentials.key(
            team: team.id, key: try #require(KeyID(rawValue: "KEY0000001")))
        _ = try await store.apply(
            .setUpstream(AppUpstream(place: place, url: "https://127.0.0.1:1", credentials: credentials)))
    }

    private func hold(
        _ number: Int,
        _ share: ForwardingShare,
        _ handle: Handle? = nil,
        expires: Timestamp = Timestamp(milliseconds: .max / 2),
    ) async throws -> String {
        let id = "8b1e5b4a-9c0c-4d5e-8f00-\(String(100_000_000_000 + number))"
        let push = ForwardedPush(
            deviceToken: [1], topic: place.bundleID.rawValue, id: id, payload: Array("{}".utf8), share: share, via: "")
        let pushes: any HeldPushes = store
        try await pushes.hold(HeldPush(push, of: place, handle: handle, expires: expires))
        return id
    }

    private func sender(_ upstream: AnsweringUpstream, _ grants: any GrantStore, at moment: Moment) -> HeldSender {
        HeldSender(store, store, grants, upstream, log: log, clock: ServiceClock { moment })
    }

    private static func moment(_ seconds: UInt64) -> Moment {
        Moment(
            time: Timestamp(milliseconds: 1_700_000_000_000 + seconds * 1000),
            uptime: Uptime(nanoseconds: seconds * 1_000_000_000))
    }

    @Test func `What was answered is not sent again if the answer cannot be stored for its handle`() async throws {
        let grant = Grant(
            id: try #require(GrantID(rawValue: "g_aaaaaaaaaaaaaaaa")), bundleID: place.bundleID, team: team.id,
            name: "Instance", key: try #require(KeyID(rawValue: "GRANT00001")), publicKey: [4, 5, 6],
            clientKey: "ck_1", made: Timestamp(milliseconds: 1))
        let accounts = try await store.apply(.createGrant(grant))
        let handle = try #require(Handle([UInt8](repeating: 7, count: Handle.byteCount)))
        let stored = StoredHandle(
            handle: handle, grant: grant.id, app: try #require(accounts.apps[place.bundleID]).id,
            environment: place.environment, token: [1], registered: Timestamp(milliseconds: 1))
        try await store.grantStore.put([stored], limit: 1)
        let id = try await hold(1, ForwardingShare(rawValue: grant.id.rawValue), handle)
        let upstream = AnsweringUpstream(UpstreamAnswer(status: 410, reason: "Unregistered"))
        // After the second time, what stayed in the store is sent again.
        for seconds in [0, 3600] as [UInt64] {
            let grants = WatchedGrants(store.grantStore, failsEnds: true)
            try await sender(upstream, grants, at: Self.moment(seconds)).round()
        }
        #expect(upstream.ids.withLock { $0 } == [id])
    }

    @Test(arguments: [true, false])
    func `The log has what may have been forwarded, and not each attempt to reach the upstream`(
        _ mayHaveBeenTaken: Bool
    ) async throws {
        _ = try await hold(1, ForwardingShare(team.id))
        let upstream = FailingUpstream(mayHaveBeenTaken)
        for seconds in [0, 1, 2] as [UInt64] {
            try await HeldSender(
                store, store, store.grantStore, upstream, log: log,
                clock: ServiceClock { Self.moment(seconds) }
            ).round()
        }
        #expect(log.events.map(\.step) == (mayHaveBeenTaken ? [.forwarded] : []))
    }

    /// An upstream that gives no answer.
    private final class FailingUpstream: Forwarding {
        private let mayHaveBeenTaken: Bool

        init(_ mayHaveBeenTaken: Bool) { self.mayHaveBeenTaken = mayHaveBeenTaken }

        func forward(_ pushes: [TicketedPush], to upstream: AppUpstream, answers: any ForwardingAnswers) {
            let answer = ForwardingAnswer.failed("It is gone.", mayHaveBeenTaken: mayHaveBeenTaken)
            let isAny = pushes.map { answers.add(answer, to: $0.ticket) }.contains(true)
            if isAny { answers.answersArrived() }
        }
    }

    @Test(arguments: [
        (403, "InvalidProviderToken"), (403, "ExpiredProviderToken"), (429, "TooManyProviderTokenUpdates"),
        (503, "ServiceUnavailable"), (400, "BadDeviceToken"),
    ])
    func `What is refused because of the gateway's key stays held`(status: Int, reason: String) async throws {
        let ids = [try await hold(1, ForwardingShare(team.id)), try await hold(2, ForwardingShare(team.id))]
        let refusing = AnsweringUpstream(UpstreamAnswer(status: status, reason: reason))
        try await sender(refusing, store.grantStore, at: Self.moment(0)).round()
        // One shows that the others would be refused too.
        let isFinal = reason == "BadDeviceToken"
        #expect(refusing.ids.withLock { $0 } == (isFinal ? ids : [ids[0]]))
        let accepting = AnsweringUpstream(UpstreamAnswer(status: 200))
        try await sender(accepting, store.grantStore, at: Self.moment(3600)).round()
        #expect(accepting.ids.withLock { Set($0) } == (isFinal ? [] : Set(ids)))
    }

    /// A sender whose clock the test sets, with an upstream that refuses the gateway's key.
    private func refusedSender() throws -> (HeldSender, AnsweringUpstream, TestSeconds) {
        let upstream = AnsweringUpstream(UpstreamAnswer(status: 403, reason: "InvalidProviderToken"))
        let seconds = TestSeconds()
        let sender = HeldSender(
            store, store, store.grantStore, upstream, log: log,
            clock: ServiceClock { Self.moment(seconds.value.withLock(\.self)) })
        return (sender, upstream, seconds)
    }

    private final class TestSeconds: Sendable {
        let value = Mutex<UInt64>(0)
    }

    @Test func `What is held goes at once when the gateway has another key`() async throws {
        let ids = [try await hold(1, ForwardingShare(team.id)), try await hold(2, ForwardingShare(team.id))]
        let (sender, upstream, seconds) = try refusedSender()
        try await sender.round()
        #expect(upstream.ids.withLock { $0 } == [ids[0]])
        upstream.accept()
        let other = AppUpstream.Credentials.key(team: team.id, key: try #require(KeyID(rawValue: "KEY0000002")))
        _ = try await store.apply(
            .setUpstream(AppUpstream(place: place, url: "https://127.0.0.1:1", credentials: other)))
        seconds.value.withLock { $0 = 1 }
        try await sender.round()
        // In their order: the one that was refused is the next one again.
        #expect(upstream.ids.withLock { $0 } == [ids[0], ids[0], ids[1]])
        #expect(log.events.count { $0.step == .answered(status: 200, reason: nil) } == 2)
    }

    @Test func `An upstream that refuses the gateway's key is asked again after a time, and not every second`()
        async throws
    {
        let id = try await hold(1, ForwardingShare(team.id))
        let (sender, upstream, seconds) = try refusedSender()
        let last = UInt64(HeldLimits.refusedTime.components.seconds)
        for second in 0...last {
            seconds.value.withLock { $0 = second }
            try await sender.round()
        }
        #expect(upstream.ids.withLock { $0 } == [id, id])
        upstream.accept()
        seconds.value.withLock { $0 = 2 * last }
        try await sender.round()
        #expect(upstream.ids.withLock { $0 } == [id, id, id])
    }

    @Test func `All that has expired is removed in one round`() async throws {
        let count = HeldLimits.batch + 1
        for number in 1...count {
            _ = try await hold(number, ForwardingShare(team.id), expires: Timestamp(milliseconds: 1))
        }
        let upstream = AnsweringUpstream(UpstreamAnswer(status: 200))
        try await sender(upstream, store.grantStore, at: Self.moment(0)).round()
        #expect(log.events.count { $0.step == .expired } == count)
    }

    @Test func `What is held for a deleted app is not sent for another team's app of that name`() async throws {
        let before = try await hold(1, ForwardingShare(team.id))
        _ = try await store.apply(.deleteApp(place.bundleID, at: Timestamp(milliseconds: 1)))
        let other = Team(id: try #require(TeamID(rawValue: "TEAM000002")), name: "Other")
        try await makeApp(of: other)
        let after = try await hold(2, ForwardingShare(other.id))
        let upstream = AnsweringUpstream(UpstreamAnswer(status: 200))
        try await sender(upstream, store.grantStore, at: Self.moment(0)).round()
        #expect(upstream.ids.withLock { $0 } == [after])
        let discarded = log.events.filter { $0.step == .discarded(.revoked) }
        #expect(discarded.map(\.subject.id) == [NotificationID(before)])
    }
}
