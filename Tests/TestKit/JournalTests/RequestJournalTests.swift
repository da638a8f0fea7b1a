import CommonTesting
import Delivery
import Matching
import Notifications
import Synchronization
import Testing

@testable import Journal

/// Which requests the journal keeps, and which watchers are told of them.
@Suite(.timeLimit(.minutes(1)))
struct RequestJournalTests {
    private static let team = TeamID(rawValue: "ABCDE12345")
    private static let device = DeviceID(rawValue: 7)

    private static func journal(keep: Int = 100) -> RequestJournal {
        let journal = RequestJournal()
        journal.setKeep(keep)
        return journal
    }

    private static func facts(_ topic: String = "a.b", id: UInt64 = 1, body: Int = 0) -> RequestFacts {
        RequestFacts(
            time: Timestamp(milliseconds: 0), connection: 1, environment: .development, interface: .http2, team: team,
            device: device, topic: topic, apnsID: NotificationID(high: 0, low: id),
            body: [UInt8](repeating: 0, count: body))
    }

    private static func event(
        _ step: DeliveryStep, id: UInt64 = 1, environment: Environment = .development
    )
        -> DeliveryEvent
    {
        let destination = Destination(environment: environment, device: device, app: AppID(rawValue: 1))
        return DeliveryEvent(
            time: Timestamp(milliseconds: 0), step: step,
            subject: NotificationSubject(
                id: NotificationID(high: 0, low: id), address: .destination(destination, generation: 1), topic: "a.b"))
    }

    private static func match(_ change: (inout RequestMatch) -> Void = { _ in }) -> RequestMatch {
        var match = RequestMatch()
        change(&match)
        return match
    }

    @Test func `A request without an answer is shown only to readers that follow changes`() async {
        let journal = Self.journal()
        var changes = journal.follow(RequestMatch(), changes: true) { _ in }.makeAsyncIterator()
        let number = journal.append(Self.facts())
        #expect(await changes.next()?.isComplete == false)
        journal.answered(number, RequestAnswer(status: 200))
        #expect(await changes.next()?.facts.status == 200)
        _ = journal.append(Self.facts(id: 2))
        var completed = journal.follow(RequestMatch()) { _ in }.makeAsyncIterator()
        journal.end()
        #expect(await completed.next()?.facts.number == number)
        #expect(await completed.next() == nil)
    }

    /// More requests than are copied at once.
    @Test func `Requests that match a payload are found over all pages, the oldest first`() {
        let journal = Self.journal(keep: 1000)
        for id in 1...600 {
            var facts = Self.facts(id: UInt64(id))
            facts.body = Array(#"{"even":\#(id.isMultiple(of: 2))}"#.utf8)
            _ = journal.append(facts)
        }
        let even = Self.match { $0.payload = ["even": true] }
        let all = journal.requests(even, limit: 1000).map(\.facts.apnsID.low)
        #expect(all == (1...300).map { UInt64($0 * 2) })
        #expect(journal.requests(even, limit: 3).map(\.facts.apnsID.low) == [2, 4, 6])
        #expect(journal.requests(Self.match { $0.payload = ["even": 1] }, limit: 3).isEmpty)
    }

    @Test func `A wait and clearing by a payload find the requests of all pages, and those that come during the wait`()
        async throws
    {
        let journal = Self.journal(keep: 1000)
        let count = UInt64(JournalLimits.page) + 4
        func push(_ id: UInt64) {
            var facts = Self.facts(id: id)
            facts.body = Array(#"{"order":\#(id % 2)}"#.utf8)
            journal.answered(journal.append(facts), RequestAnswer(status: 200))
        }
        for id in 1...count { push(id) }
        let match = Self.match { $0.payload = ["order": 1] }
        let needed = Int(count / 2) + 1
        async let waiting = journal.wait(for: match, count: needed, limit: 1, timeout: .seconds(60)) { _ in }
        try await wait(while: journal.watcherCount == 0)
        push(count + 1)
        guard case .done(let entries) = await waiting else {
            Issue.record("it timed out")
            return
        }
        #expect(entries.map(\.facts.number) == Array(stride(from: 1, through: count + 1, by: 2)))
        #expect(journal.clear(match) == needed)
        #expect(journal.requests(RequestMatch(), limit: 1000).count == Int(count / 2))
    }

    @Test func `The payload of an examined request is not parsed again`() {
        var facts = Self.facts()
        facts.number = 1
        facts.body = Array(#"{"order":1}"#.utf8)
        var examined = PayloadMatchCache(
            Self.match {
                $0.payload = JSONValue(Array(#"{"order":1}"#.utf8))
                $0.outcome = .delivered
            })
        examined.examine(facts)
        // If it were parsed, this body would not match.
        facts.body = []
        #expect(!examined.matches(facts))
        facts.outcome = .delivered
        #expect(examined.matches(facts))
        facts.number = 2
        #expect(!examined.matches(facts))
    }

    /// A request that is still there cannot tell whether one that was removed was the repetition.
    @Test func `Unprocessed requests are left out if anything was removed that came after them`() {
        let journal = Self.journal(keep: 2)
        func late(after: UInt64) -> UnprocessedRequests {
            UnprocessedRequests(
                connection: after, environment: .development, team: Self.team, after: after, fingerprints: [],
                unknown: 1)
        }
        var shown: [UInt64] { journal.unprocessedRequests(RequestMatch()).map(\.after) }
        for number in 1...2 {
            #expect(journal.append(Self.facts()) == number)
            journal.record(unprocessed: late(after: UInt64(number)))
        }
        _ = journal.append(Self.facts())
        #expect(shown == [1, 2])
        _ = journal.append(Self.facts())
        #expect(shown == [2])
        #expect(journal.unprocessedRequests(Self.match { $0.team = TeamID(rawValue: "ZZZZZZZZZZ") }) == [])
        _ = journal.clear(Self.match { $0.topic = "a.b" })
        #expect(shown == [])
        journal.record(unprocessed: late(after: 4))
        #expect(shown == [4])
        _ = journal.clear()
        #expect(shown == [])
    }

    @Test func `A connection whose handshake a rehearsal disturbed does not count as unused`() {
        let journal = Self.journal()
        for number in UInt64(1)...3 {
            var connection = ConnectionFacts(number: number, environment: .development, interface: .http2)
            if number == 2 { connection.fault = .certificate(.otherAuthority) }
            journal.record(connection, .completed, at: Timestamp(milliseconds: 0))
            journal.record(
                unused: UnusedConnection(number: number, environment: .development, interface: .http2, team: nil))
        }
        #expect(journal.unusedConnections(RequestMatch()) == 2)
    }

    @Test func `What one team removes says nothing of another team's unprocessed requests`() {
        let journal = Self.journal(keep: 10)
        let other = TeamID(rawValue: "ZZZZZZZZZZ")
        journal.record(
            unprocessed: UnprocessedRequests(
                connection: 1, environment: .development, team: other, after: 0, fingerprints: [], unknown: 1))
        _ = journal.append(Self.facts())
        _ = journal.clear(Self.match { $0.team = Self.team })
        #expect(journal.unprocessedRequests(RequestMatch()).map(\.team) == [other])
    }

    @Test func `If requests of too many teams were removed, each of them may have been an unprocessed one`() throws {
        let journal = Self.journal(keep: 1)
        let team = try #require(Self.team)
        journal.record(
            unprocessed: UnprocessedRequests(
                connection: 1, environment: .development, team: team, after: 0, fingerprints: [], unknown: 1))
        for number in 0...JournalLimits.forgottenTeams + 1 {
            if number == JournalLimits.forgottenTeams {
                #expect(journal.unprocessedRequests(RequestMatch()).count == 1)
            }
            var facts = Self.facts()
            facts.team = TeamID(rawValue: "OTHER\(10_000 + number)")
            _ = journal.append(facts)
        }
        #expect(journal.unprocessedRequests(RequestMatch()).isEmpty)
    }

    @Test func `A sample shows a limited number at a time, all changes of those, and the count of the others`() {
        let journal = Self.journal(keep: 1000)
        let known = journal.append(Self.facts(id: 1))
        let (sample, remove) = journal.sample(RequestMatch()) {}
        for id in UInt64(2)...100 { journal.answered(journal.append(Self.facts(id: id)), RequestAnswer(status: 200)) }
        let first = sample.nextBatch()
        #expect(first.entries.map(\.facts.number) == Array(UInt64(2)...51))
        #expect(first.entries.allSatisfy { $0.facts.status == 200 } && first.leftOut == 49)
        #expect(sample.nextBatch().isEmpty)
        // One request that the reader knows from before, one that it was shown, and one that was left out.
        for number in [known, 51, 52] { journal.end(number, as: .delivered) }
        let second = sample.nextBatch()
        #expect(second.entries.map(\.facts.number) == [known, 51] && second.leftOut == 0)
        remove()
        _ = journal.append(Self.facts(id: 101))
        #expect(sample.nextBatch().isEmpty)
    }

    @Test func `A sample ends with the journal`() {
        let journal = Self.journal()
        let ended = Mutex(false)
        let (_, remove) = journal.sample(RequestMatch()) { ended.withLock { $0 = true } }
        journal.end()
        #expect(ended.withLock { $0 })
        remove()
    }

    @Test func `The oldest requests are removed first, by number and by bytes`() {
        let journal = Self.journal(keep: 3)
        for id in 1...5 { #expect(journal.append(Self.facts(id: UInt64(id))) == UInt64(id)) }
        #expect(journal.requests(RequestMatch(), limit: 10).map(\.facts.number) == [3, 4, 5])
        journal.setKeep(JournalLimits.requests)
        let half = JournalLimits.bytes / 2
        for id in 6...7 { _ = journal.append(Self.facts(id: UInt64(id), body: half - 1000)) }
        _ = journal.append(Self.facts(id: 8, body: 1000))
        #expect(journal.requests(RequestMatch(), limit: 10).map(\.facts.number) == [7, 8])
        #expect(journal.clear() == 2)
    }

    @Test func `A journal that is off keeps nothing, and still numbers requests`() {
        let journal = Self.journal(keep: 0)
        #expect(journal.append(Self.facts()) == 1)
        #expect(journal.requests(RequestMatch(), limit: 10).isEmpty)
        journal.setKeep(1)
        #expect(journal.append(Self.facts()) == 2)
        #expect(journal.requests(RequestMatch(), limit: 10).map(\.facts.number) == [2])
    }

    @Test(arguments: [
        ([DeliveryStep.accepted, .sent], RequestOutcome.pending), ([.stored(after: 1)], .stored),
        ([.deferred], .stored),
        ([.throttled], .stored), ([.acknowledged(after: 1)], .delivered),
        ([.stored(after: 1), .acknowledged(after: 1)], .delivered),
        ([.acknowledged(after: 1), .stored(after: 1)], .delivered),
        ([.stored(after: 1), .replaced(by: NotificationID(high: 0, low: 2))], .replaced),
        ([.coalesced(into: NotificationID(high: 0, low: 2))], .replaced), ([.stored(after: 1), .expired], .expired),
        ([.discarded(.oneAttempt)], .dropped), ([.rejected(.unregistered)], .rejected),
        ([.expired, .stored(after: 1)], .expired),
    ])
    func `The delivery log's events give the outcome of a request`(steps: [DeliveryStep], outcome: RequestOutcome) {
        let journal = Self.journal()
        _ = journal.append(Self.facts())
        for step in steps { journal.record(Self.event(step)) }
        // An event of the same notification in the other environment has no effect.
        journal.record(Self.event(.discarded(.oneAttempt), environment: .production))
        journal.record(Self.event(.discarded(.oneAttempt), id: 2))
        #expect(journal.requests(RequestMatch(), limit: 1).map(\.facts.outcome) == [outcome])
    }

    @Test func `Status and reason are those of the answer, not those of the decision`() {
        let journal = Self.journal()
        var facts = Self.facts()
        (facts.status, facts.reason, facts.outcome) = (400, "BadTopic", .rejected)
        let number = journal.append(facts)
        #expect(journal.requests(Self.match { $0.status = 400 }, limit: 1).isEmpty)
        #expect(journal.requests(RequestMatch(), limit: 1).first?.json.contains(#""status""#) == false)
        journal.answered(number, RequestAnswer(status: 400, reason: "BadTopic"))
        let entry = journal.requests(Self.match { $0.reason = "BadTopic" }, limit: 1).first
        #expect(entry?.facts.status == 400)
        #expect(entry?.facts.outcome == .rejected)
    }

    @Test func `A team's requests can be removed, and others stay`() {
        let journal = Self.journal()
        _ = journal.append(Self.facts())
        var other = Self.facts()
        other.team = TeamID(rawValue: "OTHER12345")
        _ = journal.append(other)
        #expect(journal.clear(Self.match { $0.team = Self.team }) == 1)
        #expect(journal.requests(RequestMatch(), limit: 10).map(\.facts.number) == [2])
        // The notification's request is no longer in the journal, so this has no effect.
        journal.record(Self.event(.expired))
        #expect(journal.requests(RequestMatch(), limit: 10).map(\.facts.outcome) == [.expired])
    }

    @Test func `A wait ends with the last request that it needs`() async throws {
        let journal = Self.journal()
        let match = Self.match { $0.outcome = .delivered }
        async let waiting = journal.wait(for: match, count: 2, limit: 10, timeout: .seconds(60)) { _ in }
        try await wait(while: journal.watcherCount == 0)
        for id in UInt64(1)...2 {
            let number = journal.append(Self.facts(id: id))
            journal.record(Self.event(.acknowledged(after: 1), id: id))
            journal.answered(number, RequestAnswer(status: 200))
        }
        guard case .done(let entries) = await waiting else {
            Issue.record("it timed out")
            return
        }
        #expect(entries.map(\.facts.number) == [1, 2])
    }

    @Test func `A wait for no request ends at its timeout, and one that is ended early reports what has come`() async {
        let journal = Self.journal()
        guard
            case .done(let none) = await journal.wait(
                for: RequestMatch(), count: 0, limit: 10, timeout: .zero, watch: { _ in })
        else {
            Issue.record("something was there")
            return
        }
        #expect(none.isEmpty)
        for id in UInt64(1)...7 {
            journal.answered(journal.append(Self.facts(id < 4 ? "a.b" : "c.d", id: id)), RequestAnswer(status: 200))
        }
        let match = Self.match {
            $0.topic = "a.b"
            $0.status = 400
        }
        let result = await journal.wait(for: match, count: 1, limit: 10, timeout: .seconds(60)) { $0() }
        guard case .timedOut(let matched, let nearest, let failed, let dropped) = result else {
            Issue.record("it is content")
            return
        }
        #expect(matched == 0 && failed.isEmpty && dropped == 0)
        #expect(nearest.map(\.entry.facts.number) == [3, 2, 1, 7, 6])
        #expect(nearest.first?.differs == ["status"] && nearest.last?.differs == ["topic", "status"])
    }

    @Test func `A wait that times out says which requests had no room in the journal`() async {
        let journal = Self.journal()
        journal.setKeep(2)
        for id in UInt64(1)...5 { _ = journal.append(Self.facts("a.b", id: id)) }
        let result = await journal.wait(
            for: Self.match { $0.topic = "c.d" }, count: 1, limit: 10, timeout: .seconds(60)
        ) {
            $0()
        }
        guard case .timedOut(0, _, _, let dropped) = result else {
            Issue.record("it is content")
            return
        }
        #expect(dropped == 3)
    }

    @Test func `A wait that times out names the newest connections that failed without a rehearsal`() async {
        let journal = Self.journal()
        let results: [HandshakeResult] = [
            .alert("unknown_ca"), .clientEnded, .withoutHTTP2(offered: ["http/1.1"]), .withoutHTTP2(offered: []),
            .leftUnused,
            .failed("something else"), .completed,
        ]
        for (number, result) in results.enumerated() {
            let connection = ConnectionFacts(number: UInt64(number), environment: .development, interface: .http2)
            journal.record(connection, result, at: Timestamp(milliseconds: 0))
        }
        var rehearsed = ConnectionFacts(number: 8, environment: .development, interface: .http2)
        (rehearsed.fault, rehearsed.rule) = (.certificate(.expired), "expired")
        journal.record(rehearsed, .alert("certificate_expired"), at: Timestamp(milliseconds: 0))
        let result = await journal.wait(for: RequestMatch(), count: 1, limit: 10, timeout: .seconds(60)) { $0() }
        guard case .timedOut(0, let nearest, let failed, 0) = result else {
            Issue.record("it is content")
            return
        }
        // They are no requests, so they are near none.
        #expect(nearest.isEmpty)
        #expect(failed.map { $0.facts.failedHandshake?.result } == results.dropFirst().dropLast().reversed())
        #expect(journal.newest == 7)
        #expect(
            failed[3].json.contains(
                #""protocols":["http/1.1"],"cause":"the client offers http/1.1 and not HTTP/2 (h2)""#))
        #expect(failed[2].json.contains(#""protocols":[],"cause":"the client speaks HTTP/1"#))
        // The report has the handshakes themselves.
        #expect(
            journal.handshakes.map(\.result) == results.prefix(3) + [
                .failed("something else"), .alert("certificate_expired"),
            ])
    }

    @Test(arguments: [0, 1, 2])
    func `If the journal ends during a wait, only a wait that has what it needs succeeds`(count: Int) async {
        let journal = Self.journal()
        journal.answered(journal.append(Self.facts()), RequestAnswer(status: 200))
        async let waiting = journal.wait(for: RequestMatch(), count: count, limit: 10, timeout: .seconds(600)) { _ in }
        journal.end()
        switch await waiting {
        case .done(let entries): #expect(count == 1 && entries.count == 1)
        case .ended: #expect(count != 1)
        case .timedOut: Issue.record("it has timed out")
        }
    }

    @Test func `If a match names a team, its requests are nearer than those of other teams`() async {
        let journal = Self.journal()
        for id in UInt64(1)...7 {
            var facts = Self.facts(id == 1 ? "c.d" : "a.b", id: id)
            if id == 2 { facts.team = nil }
            if id > 2 { facts.team = TeamID(rawValue: "OTHER12345") }
            journal.answered(journal.append(facts), RequestAnswer(status: id == 1 ? 400 : 200))
        }
        let match = Self.match {
            $0.team = Self.team
            $0.topic = "a.b"
            $0.status = 200
        }
        let result = await journal.wait(for: match, count: 1, limit: 10, timeout: .seconds(60)) { $0() }
        guard case .timedOut(_, let nearest, _, _) = result else {
            Issue.record("it is content")
            return
        }
        #expect(nearest.map(\.entry.facts.number) == [2, 1, 7, 6, 5])
    }

    @Test func `A follower gets each request once, when it is answered`() async {
        let journal = Self.journal()
        journal.answered(journal.append(Self.facts()), RequestAnswer(status: 200))
        let stream = journal.follow(RequestMatch()) { _ in }
        let number = journal.append(Self.facts(id: 2))
        journal.record(Self.event(.stored(after: 1), id: 2))
        journal.answered(number, RequestAnswer(status: 200))
        journal.record(Self.event(.acknowledged(after: 1), id: 2))
        journal.end()
        var numbers: [UInt64] = []
        for await entry in stream { numbers.append(entry.facts.number) }
        #expect(numbers == [1, 2])
    }

    @Test func `A follower gets all requests of a large journal, and those that come later`() async {
        let journal = Self.journal(keep: JournalLimits.requests)
        let last = UInt64(JournalLimits.followerBacklog) + 2
        for id in 1..<last { journal.answered(journal.append(Self.facts(id: id)), RequestAnswer(status: 200)) }
        let stream = journal.follow(RequestMatch()) { _ in }
        journal.answered(journal.append(Self.facts(id: last)), RequestAnswer(status: 200))
        journal.end()
        var numbers: [UInt64] = []
        for await entry in stream { numbers.append(entry.facts.number) }
        #expect(numbers == Array(1...last))
    }

    @Test func `A follower that does not read is dropped`() async {
        let journal = Self.journal(keep: JournalLimits.requests)
        let stream = journal.follow(RequestMatch()) { _ in }
        for id in 0...JournalLimits.followerBacklog {
            journal.answered(journal.append(Self.facts(id: UInt64(id))), RequestAnswer(status: 200))
        }
        var count = 0
        for await _ in stream { count += 1 }
        #expect(count == JournalLimits.followerBacklog)
    }

    @Test func `What waits for all followers together is limited, and one that reads goes on`() async {
        let journal = Self.journal(keep: JournalLimits.requests)
        let idle = (0..<20).map { _ in journal.follow(RequestMatch()) { _ in } }
        var reader = journal.follow(RequestMatch()) { _ in }.makeAsyncIterator()
        var facts = Self.facts()
        facts.body = [UInt8](repeating: UInt8(ascii: "x"), count: 4096)
        let count = 3 * JournalLimits.backlogBytes / 20 / 4096
        for _ in 0..<count {
            journal.answered(journal.append(facts), RequestAnswer(status: 200))
            #expect(await reader.next() != nil)
        }
        journal.end()
        // All of them waited alike, so each has got its part and was then ended.
        for stream in idle {
            var bytes = 0
            for await entry in stream { bytes += entry.facts.body.count }
            #expect(bytes > 0 && bytes <= JournalLimits.backlogBytes / 10)
        }
        #expect(await reader.next() == nil)
    }

    @Test func `A follower of a full journal gets what arrives before it reads`() async {
        let journal = Self.journal()
        var facts = Self.facts()
        facts.body = [UInt8](repeating: UInt8(ascii: "x"), count: 1 << 20)
        for _ in 0...JournalLimits.bytes >> 20 {
            journal.answered(journal.append(facts), RequestAnswer(status: 200))
        }
        let stream = journal.follow(RequestMatch()) { _ in }
        let last = journal.append(facts)
        journal.answered(last, RequestAnswer(status: 200))
        journal.end()
        var numbers: [UInt64] = []
        for await entry in stream { numbers.append(entry.facts.number) }
        #expect(numbers.last == last)
    }

    @Test func `The size of the journal counts what its entries take in memory`() throws {
        var facts = Self.facts()
        facts.headers = [RequestFacts.Header(name: "authorization", value: String(repeating: "a", count: 200))]
        facts.body = []
        for _ in 0..<1000 { facts.body.append(1) }
        let entry = JournalEntry(facts)
        #expect(entry.facts.body == facts.body)
        #expect(entry.facts.body.capacity < 1100)
        #expect(entry.bytes >= 1000 + 200 + 2 * MemoryLayout<JournalEntry>.stride)
    }

    @Test func `An entry is one line of JSON, whatever it contains`() throws {
        let journal = Self.journal()
        var facts = Self.facts()
        facts.headers = [
            RequestFacts.Header(name: "x", value: "a\"b"), RequestFacts.Header(name: "x", value: "\u{1}c"),
        ]
        facts.body = Array(#"{"aps" : {"alert":"ä\n"}}"#.utf8)
        journal.answered(journal.append(facts), RequestAnswer(status: 200))
        let entry = try #require(journal.requests(RequestMatch(), limit: 1).first)
        guard case .object(let members) = JSONValue(Array(entry.json.utf8)) else {
            return #expect(Bool(false), "\(entry.json)")
        }
        #expect(members["headers"] == ["x": "a\"b, \u{1}c"])
        #expect(members["payload"] == ["aps": ["alert": "ä\n"]])
        #expect(!entry.json.contains("\n"))
    }

    @Test(arguments: [
        // The keys in their order, and numbers that a reader might round.
        (
            "{ \"z\" : 1.50,\n\t\"a\" : [12345678901234567890, 1e3] }",
            #""payload":{"z":1.50,"a":[12345678901234567890,1e3]}"#
        ),
        // White space, quotation marks and backslashes in strings.
        (#"{"a b" : "c  \\\" d\\\\" , "e": " "}"#, #""payload":{"a b":"c  \\\" d\\\\","e":" "}"#),
        // Half a character, a number beyond every Double, and a key that is there twice are JSON.
        (#"{"a":"hi \ud83d"}"#, #""payload":{"a":"hi \ud83d"}"#), (#"{"a":1e400}"#, #""payload":{"a":1e400}"#),
        (#"{"a":1,"a":2}"#, #""payload":{"a":1,"a":2}"#),
        // What is no dictionary, is there as text.
        ("[1, 2]", #""body":"[1, 2]""#), ("{\"aps\":", #""body":"{\"aps\":""#), ("\u{ff}", "\"body\":\"\u{ff}\""),
    ])
    func `A payload is shown as it was sent, without the white space`(_ body: String, _ expected: String) throws {
        let journal = Self.journal()
        var facts = Self.facts()
        facts.body = Array(body.utf8)
        journal.answered(journal.append(facts), RequestAnswer(status: 200))
        let entry = try #require(journal.requests(RequestMatch(), limit: 1).first)
        #expect(entry.json.contains(expected), "\(entry.json)")
        #expect(JSONValue(Array(entry.json.utf8)) != nil)
        #expect(!entry.json.contains("bodyBytes"))
    }

    @Test func `The size of a body is shown if the journal does not have all of it`() throws {
        let journal = Self.journal()
        var facts = Self.facts()
        facts.body = Array(#"{"aps":"#.utf8)
        facts.bodyBytes = 5026
        journal.answered(journal.append(facts), RequestAnswer(status: 413, reason: "PayloadTooLarge"))
        let entry = try #require(journal.requests(RequestMatch(), limit: 1).first)
        #expect(entry.json.contains(#""body":"{\"aps\":","bodyBytes":5026,"status":413"#), "\(entry.json)")
    }
}
