import Delivery
import Notifications
import Testing

/// What the limits of a grant allow.
@Suite("Limits of a grant")
struct GrantLimitsTests {
    private static let now = Timestamp(milliseconds: 1_700_000_000_000)
    private static let request = GrantLimits.Request(
        topic: "com.example.app", pushType: .alert, priority: .immediate)

    private func limits(_ change: (inout GrantLimits) -> Void) -> GrantLimits {
        var limits = GrantLimits()
        change(&limits)
        return limits
    }

    private func refusal(_ limits: GrantLimits, _ request: GrantLimits.Request = request) -> Rejection? {
        do throws(Rejection) {
            try limits.check(request, at: Self.now)
            return nil
        } catch {
            return error
        }
    }

    private func refusal(_ limits: GrantLimits, payload: String) -> Rejection? {
        do throws(Rejection) {
            try limits.check(payload: Array(payload.utf8))
            return nil
        } catch {
            return error
        }
    }

    @Test func `A grant without limits may send everything`() {
        #expect(refusal(GrantLimits()) == nil)
        let bare = GrantLimits.Request(topic: "com.example.app.voip", pushType: nil, priority: .low)
        #expect(refusal(GrantLimits(), bare) == nil)
        #expect(refusal(GrantLimits(), payload: #"{"aps":{"alert":"Hello"}}"#) == nil)
    }

    @Test func `Each refusal has the reason of the table, and its detail names the limit`() throws {
        let refused: [(GrantLimits, Rejection.Reason, String)] = [
            (limits { $0.topics = ["com.example.app.voip"] }, .topicDisallowed, "topics"),
            (limits { $0.pushTypes = ["background", "voip"] }, .invalidPushType, "pushTypes"),
            (limits { $0.priorities = [5, 1] }, .badPriority, "priorities"),
            (limits { $0.expires = Self.now.milliseconds }, .invalidProviderToken, "expires"),
        ]
        for (limits, reason, name) in refused {
            let found = self.refusal(limits)
            let refusal = try #require(found)
            #expect(refusal.reason == reason)
            #expect(refusal.detail?.contains(name) == true)
        }
    }

    @Test func `What a limit names is allowed`() {
        let limits = limits {
            $0.topics = ["com.example.app"]
            $0.pushTypes = ["alert"]
            $0.priorities = [10]
            $0.expires = Self.now.milliseconds + 1
        }
        #expect(refusal(limits) == nil)
    }

    @Test func `A grant that is limited to push types needs the header`() {
        let bare = GrantLimits.Request(topic: "com.example.app", pushType: nil, priority: .immediate)
        #expect(refusal(limits { $0.pushTypes = ["alert"] }, bare)?.reason == .invalidPushType)
    }

    @Test func `A payload may be as long as the limit`() {
        let limits = limits { $0.payloadBytes = 10 }
        #expect(refusal(limits, payload: #"{"aps":{}}"#) == nil)
        let refusal = refusal(limits, payload: #"{"aps":{} }"#)
        #expect(refusal?.reason == .payloadTooLarge)
        #expect(refusal?.detail?.contains("payloadBytes is 10") == true)
    }

    // MARK: encryptedOnly

    @Test(
        arguments: [
            #"{"aps":{"mutable-content":1},"data":"AAAA"}"#,
            #"{"aps":{},"e":"aGVsbG8"}"#, #"{"aps":{},"e":"aGVsbG8="}"#,
            // Base 64, and z85 as relays write it.
            #"{"aps":{},"e":"++//"}"#, #"{"aps":{},"e":"+/8="}"#, #"{"aps":{},"e":"HelloWorld"}"#,
            #"{"aps":{},"e":"nm=QNz.92Pz/PV8aPbk3"}"#,
            // Silent pushes, and those that only set the badge.
            #"{"aps":{"content-available":1}}"#, #"{"aps":{"mutable-content":1}}"#, #"{"aps":{"badge":0}}"#,
            #"{"aps":{"content-available":1,"interruption-level":"time-sensitive"},"e":"AAAA"}"#,
            #"{"aps":{"alert":{"loc-key":"Notification","loc-args":[ ]},"mutable-content":1}}"#,
            #"{"e":"-_-_","aps":{"alert":{"loc-key":"NEW","title-loc-key":"T","subtitle-loc-key":"S"},"sound":"default","badge":3,"thread-id":"a","mutable-content":1}}"#,
        ])
    func `An encrypted payload is allowed`(_ payload: String) {
        #expect(refusal(limits { $0.encryptedOnly = true }, payload: payload) == nil)
    }

    @Test(
        arguments: [
            #"{"aps":{"alert":"Hello"},"data":"AAAA"}"#,
            #"{"aps":{"alert":{"body":"Hello"}},"data":"AAAA"}"#,
            #"{"aps":{"alert":{"loc-key":"NEW","loc-args":["Bob"]}},"data":"AAAA"}"#,
            #"{"aps":{"alert":{"loc-key":["Bob"]}},"data":"AAAA"}"#,
            #"{"aps":{"category":"x"},"data":"AAAA"}"#,
            #"{"aps":{"badge":"Hello"},"data":"AAAA"}"#,
            #"{"aps":{"sound":{"name":"Hello"}},"data":"AAAA"}"#,
            #"{"aps":{"thread-id":["Hello"]},"data":"AAAA"}"#,
            #"{"aps":{"interruption-level":"Hello"},"data":"AAAA"}"#,
            #"{"aps":{"content-available":"Hello"},"data":"AAAA"}"#,
            #"{"aps":{"badge":123456789012345678901},"data":"AAAA"}"#,
            #"{"aps":{"alert":{"loc-key":"Bob says hello"}},"data":"AAAA"}"#,
            #"{"aps":{"alert":{"loc-key":"\#(String(repeating: "a", count: 65))"}},"data":"AAAA"}"#,
            #"{"aps":{"alert":{"loc-key":"Bob\u00a0says"}},"data":"AAAA"}"#,
            #"{"aps":{"thread-id":"\#(String(repeating: "a", count: 560))"},"data":"AAAA"}"#,
            #"{"aps":{"thread-id":"Bob says"},"data":"AAAA"}"#, #"{"aps":{"sound":"Bob says"},"data":"AAAA"}"#,
            #"{"aps":{},"Bob says hello":"AAAA"}"#, #"{"aps":{},"\#(String(repeating: "a", count: 33))":"AAAA"}"#,
            #"{"aps":{},"data":"AAAA","more":"AAAA"}"#,
            #"{"aps":{},"data":"Hello there"}"#,
            #"{"aps":{},"data":"A"}"#, #"{"aps":{},"data":"Grüße"}"#, #"{"aps":{},"data":"Hello,Bob"}"#,
            #"{"aps":{},"data":"$$$$$"}"#, #"{"aps":{},"data":"AA\nAA"}"#,
            #"{"aps":{},"data":""}"#, #"{"aps":{},"data":1}"#, #"{"aps":{},"data":{"a":"AAAA"}}"#,
            #"{"data":"AAAA"}"#, #"{"aps":{},"aps":{"alert":"Hello"},"data":"AAAA"}"#,
            #"{"aps":{"badge":1,"b\u0061dge":2},"data":"AAAA"}"#,
        ])
    func `A payload that could say something is refused`(_ payload: String) {
        let refusal = refusal(limits { $0.encryptedOnly = true }, payload: payload)
        #expect(refusal?.reason == .payloadEmpty)
        #expect(refusal?.detail?.contains("encryptedOnly") == true)
    }

    @Test func `A header that could say something is refused`() throws {
        func refusal(_ limits: GrantLimits, _ value: String) -> Rejection? {
            do throws(Rejection) {
                try limits.check(header: "apns-collapse-id", value, .badCollapseID)
                return nil
            } catch {
                return error
            }
        }
        let encrypted = limits { $0.encryptedOnly = true }
        for value in ["a", "chat-42", "!slw48wfj34rtnrf:example.com", String(repeating: "a", count: 64)] {
            #expect(refusal(encrypted, value) == nil, "\(value)")
        }
        for value in [
            "Bob: lets meet at five behind the church, bring the money", "Bob\u{a0}says", "Bob\u{200b}says",
            "Bob\tsays", String(repeating: "a", count: 65),
        ] {
            let found = refusal(encrypted, value)
            let refused = try #require(found, "\(value)")
            #expect(refused.reason == .badCollapseID)
            #expect(refused.detail?.contains("encryptedOnly") == true)
            #expect(refused.detail?.contains("apns-collapse-id") == true)
            #expect(refusal(GrantLimits(), value) == nil, "Without the limit it may be anything.")
        }
    }

    @Test(arguments: [EncryptedForm.any, .webPush, .matrix, .keys([:])])
    func `What is readable of each form has the collapse identifier`(_ form: EncryptedForm) {
        #expect(form.readable.contains("apns-collapse-id") && form.readable.contains("aps.thread-id"))
    }

    private func refusal(_ form: EncryptedForm, payload: String) -> Rejection? {
        refusal(limits { ($0.encryptedOnly, $0.encryptedForm) = (true, form) }, payload: payload)
    }

    @Test func `Matrix's gateways may send with event_id_only`() {
        // As Sygnal sends with the default payload that Element for iOS gives it.
        let payload = #"""
            {"aps":{"mutable-content":1,"alert":{"loc-key":"Notification","loc-args":[]}},
            "room_id":"!slw48wfj34rtnrf:example.com","event_id":"$qTOWWTEL48yPm3uT-gdNhFcoHxfKbZuqRVnnWWSkGBs","unread_count":2}
            """#
        #expect(refusal(.matrix, payload: payload) == nil)
        #expect(refusal(.any, payload: payload)?.reason == .payloadEmpty)
        #expect(refusal(.matrix, payload: #"{"aps":{"badge":0},"unread_count":0}"#) == nil)
        for payload in [
            #"{"aps":{},"room_id":"!a:example.com","sender":"@bob:example.com"}"#,
            #"{"aps":{},"room_id":"Bob says hello"}"#, #"{"aps":{},"room_id":""}"#, #"{"aps":{},"room_id":7}"#,
            #"{"aps":{},"event_id":"\#(String(repeating: "a", count: 256))"}"#,
            #"{"aps":{},"unread_count":"2"}"#, #"{"aps":{},"unread_count":null}"#,
        ] { #expect(refusal(.matrix, payload: payload)?.reason == .payloadEmpty, "\(payload)") }
    }

    @Test func `Relays of Web Push may send`() {
        let payload = #"""
            {"aps":{"alert":{"loc-key":"NEW"},"mutable-content":1,"content-available":1},
            "p":"nm=QNz.92Pz/PV8aPbk3","k":"nm=QN","s":"nm=QN","x":"YWNjb3VudA"}
            """#
        #expect(refusal(.webPush, payload: payload) == nil)
        #expect(refusal(.webPush, payload: #"{"aps":{},"p":"AAAA","m":"AAAA"}"#)?.reason == .payloadEmpty)
    }

    @Test func `A form of its own allows its keys, and none has to be there`() {
        let form = EncryptedForm.keys(["data": .opaque, "count": .number, "room": .identifier])
        for payload in [
            #"{"aps":{}}"#, #"{"aps":{},"data":"AAAA"}"#, #"{"aps":{},"data":"AAAA","count":-1.5,"room":"a"}"#,
        ] { #expect(refusal(form, payload: payload) == nil, "\(payload)") }
        #expect(refusal(form, payload: #"{"aps":{},"other":"AAAA"}"#)?.reason == .payloadEmpty)
        #expect(refusal(form, payload: #"{"aps":{},"data":"AAAA","data":"AAAA"}"#)?.reason == .payloadEmpty)
        #expect(form.readable.contains("room") && !form.readable.contains("data"))
    }

    @Test func `A stored grant of an earlier release keeps its meaning`() throws {
        let stored = try JSONValue.decode(Array(#"{"encryptedOnly":true,"rate":3}"#.utf8), as: GrantLimits.self)
        #expect(stored.encrypted == .any && stored.rate == 3)
        let open = try JSONValue.decode(Array(#"{"encryptedOnly":false}"#.utf8), as: GrantLimits.self)
        #expect(open.encrypted == nil)
        // A node of that release reads what this one writes, and refuses what is not one opaque text.
        let written = try JSONValue(encoding: limits { ($0.encryptedOnly, $0.encryptedForm) = (true, .matrix) })
        #expect(written.text.contains(#""encryptedOnly":true"#))
        let read = try JSONValue.decode(Array(written.text.utf8), as: GrantLimits.self)
        #expect(read.encrypted == .matrix)
    }
}

/// How a grant's notifications are counted.
@Suite("Use of a grant")
struct GrantUseTests {
    /// Noon of a day.
    private static let now = Timestamp(milliseconds: 20_000 * 86_400_000 + 43_200_000)
    private static let day: UInt64 = 20_000

    private func limits(rate: Int? = nil, burst: Int? = nil, daily: Int? = nil) -> GrantLimits {
        var limits = GrantLimits()
        (limits.rate, limits.burst, limits.daily) = (rate, burst, daily)
        return limits
    }

    @Test func `Without limits everything is counted and allowed`() {
        var use = GrantUse(day: Self.day)
        #expect(use.taken(1000, limits()) == 1000)
        #expect(use.sent == 1000 && use.unwritten == 1000)
    }

    @Test func `At once as many are allowed as the burst, and then the rate`() {
        var use = GrantUse(day: Self.day)
        let limits = limits(rate: 10, burst: 25)
        #expect(use.taken(100, limits) == 25)
        #expect(use.taken(100, limits, at: Self.now.advanced(by: .seconds(1))) == 10)
        #expect(use.sent == 35, "What is refused is not counted.")
    }

    @Test func `Without a burst as many are allowed as in a second`() {
        var use = GrantUse(day: Self.day)
        #expect(use.taken(100, limits(rate: 7)) == 7)
    }

    @Test func `Beyond the rate the answer says when to send again`() throws {
        var use = GrantUse(day: Self.day)
        let limits = limits(rate: 1)
        #expect(use.spend(limits, at: Self.now) == nil)
        let found = use.spend(limits, at: Self.now)
        let refusal = try #require(found)
        #expect(refusal.rejection.reason == .tooManyRequests && refusal.retryAfter == 1)
        #expect(refusal.rejection.detail?.contains("1 a second") == true)
    }

    @Test func `A daily number begins again at midnight (UTC)`() throws {
        var use = GrantUse(day: Self.day)
        let limits = limits(daily: 3)
        #expect(use.taken(5, limits) == 3)
        let found = use.spend(limits, at: Self.now)
        let refusal = try #require(found)
        #expect(refusal.rejection.reason == .tooManyRequests && refusal.retryAfter == 43_200)
        #expect(refusal.rejection.detail?.contains("daily is 3") == true)
        let last = Self.now.advanced(by: .seconds(43_199))
        #expect(use.taken(1, limits, at: last) == 0)
        #expect(use.taken(5, limits, at: last.advanced(by: .seconds(1))) == 3)
        #expect(use.sent == 3 && use.unwritten == 3)
    }

    @Test func `What was sent before a restart counts`() {
        var use = GrantUse(day: Self.day, sent: 2)
        #expect(use.taken(5, limits(daily: 3)) == 1)
    }

    @Test func `What other nodes have sent counts for the daily number`() {
        var use = GrantUse(day: Self.day)
        let limits = limits(daily: 10)
        #expect(use.taken(3, limits) == 3)
        // Meanwhile one more is sent here, and the store learns of three of this node and four of another.
        #expect(use.taken(1, limits) == 1)
        use.wrote(3, total: 7, on: Self.day, limits, at: Self.now)
        #expect(use.sent == 8 && use.unwritten == 1)
        #expect(use.taken(5, limits) == 2)
    }

    @Test func `What other nodes have sent is charged to the rate`() {
        var use = GrantUse(day: Self.day)
        let limits = limits(rate: 10)
        #expect(use.taken(5, limits) == 5)
        use.wrote(5, total: 25, on: Self.day, limits, at: Self.now)
        // Twenty more than this node's five: two seconds' worth, of which half a second's was free.
        #expect(use.taken(5, limits, at: Self.now.advanced(by: .milliseconds(1500))) == 0)
        #expect(use.taken(5, limits, at: Self.now.advanced(by: .milliseconds(1700))) > 0)
    }

    @Test func `Numbers of another day are ignored`() {
        var use = GrantUse(day: Self.day)
        #expect(use.taken(3, limits()) == 3)
        use.wrote(3, total: 100, on: Self.day - 1, limits(), at: Self.now)
        #expect(use.sent == 3 && use.unwritten == 3)
    }

    @Test func `A clock that goes back does not begin a new day`() {
        var use = GrantUse(day: Self.day)
        let limits = limits(daily: 3)
        #expect(use.taken(2, limits) == 2)
        #expect(use.taken(5, limits, at: Self.now.advanced(by: .seconds(-86_400))) == 1)
    }
}

extension GrantUse {
    /// Spends notifications.
    /// - Returns: how many of them were allowed.
    fileprivate mutating func taken(
        _ count: Int,
        _ limits: GrantLimits,
        at now: Timestamp = Timestamp(milliseconds: 20_000 * 86_400_000 + 43_200_000),
    ) -> Int {
        var allowed = 0
        for _ in 0..<count where spend(limits, at: now) == nil { allowed += 1 }
        return allowed
    }
}
