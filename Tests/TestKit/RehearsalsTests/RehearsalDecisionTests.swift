import Matching
import Notifications
import Testing

@testable import Rehearsals

@Suite("Decisions of a rehearsal")
struct RehearsalDecisionTests {
    private static func facts(
        topic: String = "com.example.shop",
        interface: ProviderInterface = .http2,
    ) throws -> RequestFacts {
        RequestFacts(
            time: Timestamp(seconds: 1), connection: 1, environment: .development, interface: interface, topic: topic,
            apnsID: try #require(NotificationID("00000000-0000-4000-8000-000000000001")))
    }

    private static let hang = Rehearsal.Fault.request(RequestFault(.hang))

    private static func rule(
        _ name: String = "rule",
        topic: String? = nil,
        _ selection: Rehearsal.Selection = .always,
        _ fault: Rehearsal.Fault = hang,
    ) -> Rehearsal.Rule {
        var match = RequestMatch()
        match.topic = topic
        return Rehearsal.Rule(name: name, match: match, selection: selection, fault: fault)
    }

    /// The numbers of the requests for which one rule fires.
    private static func fired(
        _ selection: Rehearsal.Selection,
        of count: Int = 12,
        seed: UInt64 = 0,
        age: (Int) -> Duration = { _ in .zero },
    ) throws -> [Int] {
        var active = ActiveRehearsal(Rehearsal(seed: seed, rules: [rule("rule", selection)]))
        let facts = try facts()
        return (1...count).filter { active.decide(facts, age: age($0)) != nil }
    }

    @Test func `Selections depend on the number of the matching request`() throws {
        #expect(try Self.fired(.always, of: 3) == [1, 2, 3])
        #expect(try Self.fired(.first(2)) == [1, 2])
        #expect(try Self.fired(.every(5)) == [5, 10])
        #expect(try Self.fired(.after(9)) == [10, 11, 12])
        #expect(try Self.fired(.share(0)) == [])
        #expect(try Self.fired(.share(1), of: 3) == [1, 2, 3])
        #expect(try Self.fired(.between(.seconds(3), .seconds(5))) { .seconds($0) } == [3, 4])
    }

    @Test func `With the same seed the same requests get faults, and with another seed others do`() throws {
        let once = try Self.fired(.share(0.1), of: 10_000, seed: 7)
        #expect(try Self.fired(.share(0.1), of: 10_000, seed: 7) == once)
        #expect(try Self.fired(.share(0.1), of: 10_000, seed: 8) != once)
        #expect((850...1150).contains(once.count))
    }

    @Test func `The first rule that fires decides, and each rule counts all requests that it matches`() throws {
        var active = ActiveRehearsal(
            Rehearsal(rules: [
                Self.rule("one", topic: "com.example.shop", .every(2)), Self.rule("two"),
                Self.rule("three", topic: "com.example.other"),
            ]))
        let names = try (1...4).map { _ in try active.decide(Self.facts(), age: .zero)?.rule }
        #expect(names == ["two", "one", "two", "one"])
        #expect(active.counts.map(\.matched) == [4, 4, 0])
        #expect(active.counts.map(\.fired) == [2, 2, 0])
    }

    @Test func `A rule applies only to interfaces on which its fault is possible`() throws {
        var active = ActiveRehearsal(
            Rehearsal(rules: [
                Self.rule("goAway", .always, .request(RequestFault(.goAway(.shutdown, after: 0)))),
                Self.rule("packet", .always, .request(RequestFault(.errorPacket(.shutdown)))),
            ]))
        let firings = try [ProviderInterface.http2, .binary].map {
            active.decide(try Self.facts(interface: $0), age: .zero)?.rule
        }
        #expect(firings == ["goAway", "packet"])
        #expect(active.counts.map(\.matched) == [1, 1])
    }

    @Test func `A binary notification that is refused meets no rule, because its connection ends anyway`() throws {
        var active = ActiveRehearsal(Rehearsal(rules: [Self.rule()]))
        var facts = try Self.facts(interface: .binary)
        facts.outcome = .rejected
        #expect(active.decide(facts, age: .zero) == nil)
        #expect(active.counts.map(\.matched) == [0])
    }

    @Test func `A match may name the number after which requests count`() throws {
        let director = RehearsalDirector(next: RequestCounter()) { .zero }
        var rule = Self.rule()
        rule.match.after = 1
        _ = director.begin(Rehearsal(rules: [rule]), time: Self.time)
        let facts = try Self.facts()
        let fired = (1...3).map { _ in
            if case .misbehave = director.decided(facts) { true } else { false }
        }
        #expect(fired == [false, true, true])
    }

    @Test func `Connections are refused by a rule of their own`() throws {
        var match = RequestMatch()
        match.interface = .binary
        let refuse = Rehearsal.Rule(name: "refuse", match: match, selection: .first(1), fault: .refuse)
        var active = ActiveRehearsal(Rehearsal(rules: [refuse]))
        let firing = active.decide(try Self.facts(interface: .binary), age: .zero)
        #expect(firing == nil)
        let refused = [ProviderInterface.http2, .binary, .binary].map {
            active.refuses(.development, $0, age: .zero)
        }
        #expect(refused == [false, true, false])
        #expect(active.counts == [ActiveRehearsal.Counts(matched: 2, fired: 1)])
    }

    @Test func `Half of the delays are below the median, and one in a hundred is above p99`() throws {
        let (median, p99) = (Duration.milliseconds(200), Duration.seconds(2))
        let fault = Rehearsal.Fault.spreadDelay(median: median, p99: p99)
        var active = ActiveRehearsal(Rehearsal(seed: 1, rules: [Self.rule("slow", .always, fault)]))
        let facts = try Self.facts()
        var delays: [Duration] = []
        for _ in 0..<20_000 {
            guard case .delay(let delay)? = active.decide(facts, age: .zero)?.fault.kind else { continue }
            delays.append(delay)
        }
        #expect(delays.count == 20_000)
        #expect((9_600...10_400).contains(delays.count { $0 < median }))
        #expect((140...260).contains(delays.count { $0 > p99 }))
        #expect(delays.allSatisfy { $0 > .zero && $0 <= RehearsalLimits.delay })
    }

    /// The number of seconds is greater than a `Duration` can be.
    @Test func `A delay with a median of a nanosecond is at most the longest delay`() {
        #expect(
            ActiveRehearsal.delay(1, median: .nanoseconds(1), p99: RehearsalLimits.delay) == RehearsalLimits.delay)
    }

    // MARK: Several

    private static let time = Timestamp(seconds: 1000)

    /// A stage with one rehearsal.
    private static func stage(_ rehearsal: Rehearsal) -> (stage: ActiveRehearsals, id: String?) {
        var stage = ActiveRehearsals()
        let id = stage.begin(rehearsal, time: Self.time, now: .seconds(100))
        return (stage, id)
    }

    @Test func `A rehearsal ends after its time to live, and its counts can still be read`() throws {
        var (stage, id) = Self.stage(Rehearsal(life: .seconds(10), rules: [Self.rule()]))
        let facts = try Self.facts()
        let before = stage.decide(facts, now: .seconds(109))
        #expect(before != nil)
        #expect(stage.isActive(now: .seconds(109)))
        let after = stage.decide(facts, now: .seconds(110))
        #expect(after == nil)
        #expect(!stage.isActive(now: .seconds(110)))
        let shown = try #require(id.flatMap { stage.rehearsal($0, now: .seconds(110)) })
        #expect(!shown.isActive)
        #expect(shown.rehearsal.counts.map(\.fired) == [1])
        #expect(shown.began == Self.time && shown.ends == Timestamp(seconds: 1010))
    }

    @Test func `A rehearsal that is ended says when, also if it is ended again`() throws {
        var (stage, id) = Self.stage(Rehearsal(life: .seconds(10), rules: [Self.rule()]))
        let name = try #require(id)
        let active = try #require(stage.rehearsal(name, now: .seconds(101)))
        #expect(active.ends == Timestamp(seconds: 1010))
        for now in [Duration.seconds(104), .seconds(105), .seconds(200)] {
            let ended = stage.end(name, now: now)
            #expect(ended?.isActive == false && ended?.ends == Timestamp(seconds: 1004))
        }
    }

    @Test func `Of several rehearsals the oldest wins, and all of them count`() throws {
        var (stage, id) = Self.stage(Rehearsal(rules: [Self.rule("first", .every(2))]))
        let first = try #require(id)
        let now = Duration.seconds(100)
        let second = stage.begin(Rehearsal(rules: [Self.rule("second")]), time: Self.time, now: now)
        #expect(second != nil && second != first)
        let facts = try Self.facts()
        let names = (1...2).map { _ in stage.decide(facts, now: now)?.rule }
        #expect(names == ["second", "first"])
        #expect(stage.all(now: now).map { $0.rehearsal.counts[0].matched } == [2, 2])
        let ended = stage.end(first, now: now)
        #expect(ended?.isActive == false)
        let name = (1...2).map { _ in stage.decide(facts, now: now)?.rule }
        #expect(name == ["second", "second"])
        let nothing = stage.end("r99", now: now)
        #expect(nothing == nil)
    }

    @Test func `The numbers of active and of remembered rehearsals are limited`() throws {
        var stage = ActiveRehearsals()
        let rehearsal = Rehearsal(rules: [Self.rule()])
        let begun = (0..<RehearsalLimits.active).compactMap { _ in stage.begin(rehearsal, time: Self.time, now: .zero) }
        #expect(begun.count == RehearsalLimits.active)
        let tooMany = stage.begin(rehearsal, time: Self.time, now: .zero)
        #expect(tooMany == nil)
        for _ in 0..<(RehearsalLimits.maximumEnded * 2) {
            let id = try #require(stage.all(now: .zero).first { $0.isActive }?.id)
            _ = stage.end(id, now: .zero)
            let next = stage.begin(rehearsal, time: Self.time, now: .zero)
            #expect(next != nil)
        }
        #expect(stage.all(now: .zero).count <= RehearsalLimits.active + RehearsalLimits.maximumEnded)
    }

    @Test func `A setting changes the number of active rehearsals`() {
        var stage = ActiveRehearsals(limit: 2)
        let begun = (0..<3).map { _ in stage.begin(Rehearsal(rules: [Self.rule()]), time: Self.time, now: .zero) }
        #expect(begun == ["r1", "r2", nil])
    }

    @Test func `A client that the service refuses by its first message counts for no rule`() throws {
        let director = RehearsalDirector(next: RequestCounter()) { .zero }
        let rule = try Rehearsal(["rules": [["fault": ["certificate": "expired"], "when": ["first": 1]]]])
        let id = try #require(director.begin(rule, time: Self.time))
        var connection = ConnectionFacts(number: 0, environment: .development, interface: .http2)
        connection.isRefused = true
        director.connecting(&connection)
        #expect(connection.fault == nil && director.rehearsal(id)?.rehearsal.counts.first?.matched == 0)
        connection.isRefused = false
        director.connecting(&connection)
        #expect(connection.fault == .certificate(.expired))
    }

    private static func connection(_ serverName: String?, _ interface: ProviderInterface = .http2) -> ConnectionFacts {
        ConnectionFacts(number: 1, environment: .development, interface: interface, serverName: serverName)
    }

    private static func handshakeRule(_ change: (inout RequestMatch) -> Void = { _ in }) -> Rehearsal.Rule {
        var match = RequestMatch()
        change(&match)
        return Rehearsal.Rule(
            name: "tls", match: match, selection: .every(2), fault: .handshake(.certificate(.expired)))
    }

    @Test func `A rule about handshakes counts connections only, and decides by their number`() throws {
        var active = ActiveRehearsal(Rehearsal(rules: [Self.handshakeRule()]))
        let ofRequest = try active.decide(Self.facts(), age: .zero)
        let isRefused = active.refuses(.development, .http2, age: .zero)
        #expect(ofRequest == nil && !isRefused)
        let fired = (1...4).map { _ in active.decide(Self.connection("localhost"), age: .zero)?.fault }
        #expect(fired == [nil, .certificate(.expired), nil, .certificate(.expired)])
        #expect(active.counts == [ActiveRehearsal.Counts(matched: 4, fired: 2)])
    }

    @Test func `A rule about handshakes does not count connections to Web Push, which may be for production`() {
        var active = ActiveRehearsal(Rehearsal(rules: [Self.handshakeRule()]))
        let fired = (1...2).compactMap { _ in active.decide(Self.connection("localhost", .webPush), age: .zero) }
        #expect(fired.isEmpty && active.counts.map(\.matched) == [0])
    }

    @Test func `A rule about handshakes matches the server name, the environment and the protocol`() {
        let rules = [
            Self.handshakeRule { $0.serverName = "api.push.apple.com" }, Self.handshakeRule { $0.interface = .binary },
            Self.handshakeRule { $0.environment = .production },
        ]
        var active = ActiveRehearsal(Rehearsal(rules: rules))
        _ = active.decide(Self.connection("API.push.apple.com"), age: .zero)
        _ = active.decide(Self.connection("localhost", .binary), age: .zero)
        _ = active.decide(Self.connection(nil), age: .zero)
        #expect(active.counts.map(\.matched) == [1, 1, 0])
    }
}
