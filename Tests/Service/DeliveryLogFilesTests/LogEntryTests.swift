import Delivery
import DeliveryLogFiles
import Notifications
import Testing

@Suite("Entries of the delivery log")
struct LogEntryTests {
    private static let id = "ffffffff-ffff-ffff-0000-000000000001"

    private static func json(_ step: DeliveryStep, token: String? = "00ff") -> String {
        LogEntry(.event(Example.event(1, step), tokenKey: 9)) { _, _ in token }.json
    }

    private static let steps: [(DeliveryStep, String)] = [
        (.accepted, #""event":"accepted""#),
        (.stored(after: 1), #""event":"stored""#),
        (.deferred, #""event":"deferred""#),
        (.throttled, #""event":"throttled""#),
        (.sent, #""event":"sent""#),
        (.acknowledged(after: 1), #""event":"acknowledged""#),
        (.expired, #""event":"expired""#),
        (.forwarded, #""event":"forwarded""#),
        (.held, #""event":"held""#),
    ]

    @Test(arguments: steps)
    func `A step without a detail has time, event, id, token and topic`(step: DeliveryStep, event: String) {
        let rest = #""id":"\#(Self.id)","token":"00ff","topic":"com.example.app""#
        #expect(Self.json(step) == #"{"time":1700000000000,\#(event),\#(rest)}"#)
    }

    private static let stepsWithDetail: [(DeliveryStep, String)] = [
        (.rejected(.badDeviceToken), #","reason":"BadDeviceToken"}"#),
        (.replaced(by: NotificationID(high: 1, low: 2)), #","by":"00000000-0000-0001-0000-000000000002"}"#),
        (.coalesced(into: NotificationID(high: 3, low: 4)), #","into":"00000000-0000-0003-0000-000000000004"}"#),
        (.discarded(.oneAttempt), #","reason":"oneAttempt"}"#),
        (.answered(status: 410, reason: "a\"b"), #","status":410,"reason":"a\"b"}"#),
        (.answered(status: 200, reason: nil, own: "BadPriority"), #","status":200,"own":"BadPriority"}"#),
    ]

    @Test(arguments: stepsWithDetail)
    func `The detail of a step is the last key of its entry`(step: DeliveryStep, end: String) {
        #expect(Self.json(step).hasSuffix(end))
    }

    @Test
    func `An unknown token or topic is left out`() {
        var event = Example.event(1)
        event.subject.topic = ""
        let entry = LogEntry(.event(event, tokenKey: 0)) { _, _ in nil }
        #expect(entry.json == #"{"time":1700000000000,"event":"sent","id":"\#(Self.id)"}"#)
    }

    @Test
    func `A topic is quoted as JSON`() {
        var event = Example.event(1)
        event.subject.topic = "a\"b\n"
        #expect(LogEntry(.event(event, tokenKey: 0)) { _, _ in nil }.json.hasSuffix(#","topic":"a\"b\n"}"#))
    }

    @Test
    func `An entry's device token is found by its address and key`() {
        let event = Example.event(1)
        let entry = LogEntry(.event(event, tokenKey: 9)) { address, key in
            address == event.subject.address && key == 9 ? "abcd" : nil
        }
        #expect(entry.token == "abcd")
    }

    @Test
    func `A loss has a count and no notification`() {
        let entry = LogEntry(.lost(3, at: Example.moment)) { _, _ in "00ff" }
        #expect(entry.json == #"{"time":1700000000000,"event":"lost","count":3}"#)
    }
}
