import Foundation
import Testing

@testable import APNSProvider

/// Every key of the Guide's Tables 9-1 and 9-2, and those that came later, has its property.
struct PayloadKeysTests {
    /// A key, a dictionary with this key only, and the key's value in JSON.
    struct Row: Sendable, CustomTestStringConvertible {
        let key: String
        let aps: APS
        let value: String
        var testDescription: String { key }

        init(_ key: String, _ aps: APS, _ value: String) {
            self.key = key
            self.aps = aps
            self.value = value
        }
    }

    /// Table 9-1, in its order.
    static let table1: [Row] = [
        Row("alert", APS(alert: "a"), #""a""#),
        Row("badge", APS(badge: 0), "0"),
        Row("sound", APS(sound: .named("chime.aiff")), #""chime.aiff""#),
        Row("content-available", APS(contentAvailable: true), "1"),
        Row("thread-id", APS(threadID: "a"), #""a""#),
    ]

    /// Table 9-2, in its order, and `subtitle` with its keys.
    static let table2: [(key: String, alert: APS.Alert, value: String)] = [
        ("title", APS.Alert(title: "a"), #""a""#),
        ("title-loc-key", APS.Alert(titleLocKey: "a"), #""a""#),
        ("title-loc-args", APS.Alert(titleLocArgs: ["a", "b"]), #"["a","b"]"#),
        ("action-loc-key", APS.Alert(actionLocKey: "a"), #""a""#),
        ("loc-key", APS.Alert(locKey: "a"), #""a""#),
        ("loc-args", APS.Alert(locArgs: ["a", "b"]), #"["a","b"]"#),
        ("launch-image", APS.Alert(launchImage: "a"), #""a""#),
        ("subtitle", APS.Alert(subtitle: "a"), #""a""#),
        ("subtitle-loc-key", APS.Alert(subtitleLocKey: "a"), #""a""#),
        ("subtitle-loc-args", APS.Alert(subtitleLocArgs: []), "[]"),
    ]

    /// The keys of today's APNs that are not in the Guide's tables.
    static let later: [Row] = [
        Row("sound", APS(sound: .critical("a", volume: 0.5)), #"{"critical":1,"name":"a","volume":0.5}"#),
        Row("mutable-content", APS(mutableContent: true), "1"),
        Row("target-content-id", APS(targetContentID: "a"), #""a""#),
        Row("interruption-level", APS(interruptionLevel: .timeSensitive), #""time-sensitive""#),
        Row("relevance-score", APS(relevanceScore: 0.25), "0.25"),
        Row("filter-criteria", APS(filterCriteria: "a"), #""a""#),
    ]

    private func json(_ aps: APS) throws -> String {
        String(decoding: try PushPayload(aps).json, as: UTF8.self)
    }

    @Test(arguments: table1 + later) func `A key of the dictionary`(_ row: Row) throws {
        #expect(try json(row.aps) == #"{"aps":{"\#(row.key)":\#(row.value)}}"#)
    }

    /// A category needs an alert (Guide, 2.2.3).
    @Test func `Category`() throws {
        #expect(try json(APS(alert: "a", category: "b")) == #"{"aps":{"alert":"a","category":"b"}}"#)
    }

    @Test(arguments: table2.indices) func `A key of the alert`(_ index: Int) throws {
        let row = Self.table2[index]
        #expect(try json(APS(alert: row.alert)) == #"{"aps":{"alert":{"\#(row.key)":\#(row.value)}}}"#)
    }

    /// An alert with a body only is a string. With other keys, the body is a key of the dictionary.
    @Test func `Body`() throws {
        let alert = APS.Alert(title: "a", body: "b")
        #expect(try json(APS(alert: alert)) == #"{"aps":{"alert":{"title":"a","body":"b"}}}"#)
    }

    @Test func `Interruption levels`() {
        #expect(
            APS.InterruptionLevel.allCases.map(\.rawValue) == ["passive", "active", "time-sensitive", "critical"])
    }

    @Test(arguments: zip(APS.LiveActivity.Event.allCases, ["start", "update", "end"]))
    func `Every key of a live activity`(
        _ event: APS.LiveActivity.Event, _ name: String
    ) throws {
        let activity = APS.LiveActivity(
            event: event, timestamp: Date(timeIntervalSince1970: 10.9), contentState: ["goals": 2],
            staleDate: Date(timeIntervalSince1970: 20), dismissalDate: Date(timeIntervalSince1970: 30),
            attributesType: "Match", attributes: ["home": "A"])
        #expect(
            try json(APS(liveActivity: activity))
                == #"{"aps":{"timestamp":10,"event":"\#(name)","content-state":{"goals":2},"stale-date":20,"#
                + #""dismissal-date":30,"attributes-type":"Match","attributes":{"home":"A"}}}"#)
    }

    @Test(arguments: [
        (APS.LiveActivity.UpdateSource.token, #""input-push-token":1"#),
        (.channel("AAAA"), #""input-push-channel":"AAAA""#),
    ]) func `A start says how the live activity is updated`(
        _ source: APS.LiveActivity.UpdateSource, _ member: String
    ) throws {
        let activity = APS.LiveActivity(
            event: .start, timestamp: Date(timeIntervalSince1970: 10), contentState: ["goals": 2],
            attributesType: "Match", attributes: ["home": "A"], updates: source)
        #expect(
            try json(APS(liveActivity: activity))
                == #"{"aps":{"timestamp":10,"event":"start","content-state":{"goals":2},"attributes-type":"Match","#
                + #""attributes":{"home":"A"},\#(member)}}"#)
    }

    @Test func `A start without attributes or an update with a source is refused`() {
        let date = Date(timeIntervalSince1970: 10)
        let state = ["goals": 2]
        for activity in [
            APS.LiveActivity(event: .start, timestamp: date, contentState: state, attributesType: "Match"),
            APS.LiveActivity(event: .start, timestamp: date, contentState: state, attributes: ["home": "A"]),
            APS.LiveActivity(event: .start, timestamp: date, attributesType: "Match", attributes: ["home": "A"]),
            APS.LiveActivity(event: .update, timestamp: date, contentState: state, updates: .token),
            APS.LiveActivity(
                event: .start, timestamp: date, contentState: state, attributesType: "Match", attributes: ["a": 1],
                updates: .channel("no base64")),
        ] {
            #expect(throws: ProviderError.self) { try json(APS(liveActivity: activity)) }
        }
    }

    @Test func `Widgets have new content`() throws {
        #expect(try json(.widgetsChanged) == #"{"aps":{"content-changed":true}}"#)
    }

    @Test func `A live activitys relevance is any number`() throws {
        let activity = APS.LiveActivity(event: .end, timestamp: Date(timeIntervalSince1970: 10))
        #expect(
            try json(APS(relevanceScore: 100, liveActivity: activity))
                == #"{"aps":{"relevance-score":100,"timestamp":10,"event":"end"}}"#)
        #expect(throws: ProviderError.self) { try json(APS(relevanceScore: 100)) }
        #expect(throws: ProviderError.self) { try json(APS(relevanceScore: .nan, liveActivity: activity)) }
    }

    @Test func `All keys together`() throws {
        let alert = APS.Alert(
            title: "a", subtitle: "b", body: "c", launchImage: "d", titleLocKey: "e", titleLocArgs: ["f"],
            subtitleLocKey: "g", subtitleLocArgs: ["h"], locKey: "i", locArgs: ["j"], actionLocKey: "k")
        let aps = APS(
            alert: alert, badge: 0, sound: .critical("b", volume: 0.5), threadID: "c", category: "d",
            contentAvailable: true, mutableContent: true, targetContentID: "e", interruptionLevel: .timeSensitive,
            relevanceScore: 0.25, filterCriteria: "f")
        #expect(
            try json(aps)
                == #"{"aps":{"alert":{"title":"a","subtitle":"b","body":"c","launch-image":"d","title-loc-key":"e","#
                + #""title-loc-args":["f"],"subtitle-loc-key":"g","subtitle-loc-args":["h"],"loc-key":"i","#
                + #""loc-args":["j"],"action-loc-key":"k"},"badge":0,"#
                + #""sound":{"critical":1,"name":"b","volume":0.5},"thread-id":"c","#
                + #""category":"d","content-available":1,"mutable-content":1,"target-content-id":"e","#
                + #""interruption-level":"time-sensitive","relevance-score":0.25,"filter-criteria":"f"}}"#)
    }

    // MARK: Keys without a property

    @Test func `A future key is written after the others`() throws {
        let aps = APS(
            alert: "a", badge: 1,
            other: ["new-key": ["deep": [1, 0.5, true, .null, "text"]], "a-key": "first"])
        #expect(
            try json(aps)
                == #"{"aps":{"alert":"a","badge":1,"a-key":"first","new-key":{"deep":[1,0.5,true,null,"text"]}}}"#)
    }

    @Test func `A future key of the alert`() throws {
        let aps = APS(alert: APS.Alert(body: "b", other: ["colour": "red"]))
        #expect(try json(aps) == #"{"aps":{"alert":{"body":"b","colour":"red"}}}"#)
    }

    @Test func `Values of many kinds beside the dictionary`() throws {
        let custom: [String: JSONValue] = ["acme1": "bar", "acme2": ["bang", 42], "acme3": .null]
        let payload = try PushPayload(APS(alert: "a"), custom: custom)
        #expect(
            String(decoding: payload.json, as: UTF8.self)
                == #"{"aps":{"alert":"a"},"acme1":"bar","acme2":["bang",42],"acme3":null}"#)
    }

    private static let keysOfProperties = (table1 + later).map(\.key) + ["category", "event", "attributes"]

    @Test(arguments: keysOfProperties) func `A key that has a property is the propertys`(_ key: String) {
        let error = #expect(throws: ProviderError.self) { try PushPayload(APS(alert: "a", other: [key: 1])) }
        #expect(error?.code == .badNotification && error?.cause.contains("The key \(key) of the aps") == true)
    }

    @Test(arguments: table2.map(\.key) + ["body"]) func `So do the alerts`(_ key: String) {
        let alert = APS.Alert(body: "b", other: [key: "x"])
        #expect(throws: ProviderError.self) { try PushPayload(APS(alert: alert)) }
    }

    @Test func `What JSON cannot write is refused`() {
        for number in [Double.nan, .infinity] {
            #expect(throws: ProviderError.self) { try PushPayload(APS(other: ["a": .number(number)])) }
        }
        let deep = (0..<80).reduce(JSONValue.null) { value, _ in .array([value]) }
        #expect(throws: ProviderError.self) { try PushPayload(APS(other: ["a": deep])) }
    }
}
