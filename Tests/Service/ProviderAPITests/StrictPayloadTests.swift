import Delivery
import Notifications
import ProviderAPI
import Rates
import Service
import Testing

@testable import ServiceTesting

/// What `strict` says of a payload's keys: what is wrong, and where (Guide, Table 9-1; docs/current-apns.md).
@Suite(.timeLimit(.minutes(2)))
struct StrictPayloadTests {
    /// The push type, the payload, and the beginning of `detail`; nil if the payload is valid.
    static let payloads: [(type: String, payload: String, detail: String?)] = [
        ("alert", #"{"aps":{"alert":"Hello","badge":1,"sound":"a.caf","category":"c","thread-id":"t"}}"#, nil),
        ("alert", #"{"aps":{"alert":{"title":"Hello"},"sound":{"critical":1,"name":"a","volume":0.5}}}"#, nil),
        ("alert", #"{"aps":{"alert":"a","interruption-level":"active","relevance-score":1,"mutable-content":1}}"#, nil),
        ("alert", #"{"aps":{"alert":"a"},"collapse":"own","id":[1,{"thread-id":2}]}"#, nil),
        (
            "liveactivity",
            #"{"aps":{"timestamp":1,"event":"update","content-state":{"a":1},"relevance-score":75,"alert":"a"}}"#, nil
        ),
        ("liveactivity", started(#","input-push-token":1,"alert":"a""#), nil),
        ("liveactivity", started(#","input-push-channel":"AAAA","alert":{"title":"a"}"#), nil),
        ("liveactivity", started(""), "aps has no alert with a text,"),
        ("liveactivity", started(#","alert":{}"#), "aps has no alert with a text,"),
        ("liveactivity", started(#","alert":"""#), "aps has no alert with a text,"),
        (
            "liveactivity", #"{"aps":{"timestamp":1,"event":"start","alert":"a","content-state":{}}}"#,
            "aps has no attributes-type, which the event start"
        ),
        ("liveactivity", #"{"aps":{"event":"update","content-state":{}}}"#, "aps has no timestamp,"),
        ("liveactivity", #"{"aps":{"timestamp":1,"content-state":{}}}"#, "aps has no event,"),
        ("liveactivity", #"{"aps":{"timestamp":1,"event":"update"}}"#, "aps has no content-state,"),
        ("liveactivity", #"{"aps":{"timestamp":1,"event":"end"}}"#, nil),
        (
            "alert", #"{"aps":{"alert":"a","input-push-token":1}}"#,
            "aps.input-push-token is not for the push type alert, but for liveactivity."
        ),
        ("alert", #"{"aps":{"alert":["Hello"]}}"#, "aps.alert must be a string or a dictionary."),
        ("alert", #"{"aps":{"badge":"1"}}"#, "aps.badge must be a number."),
        ("alert", #"{"aps":{"alert":"a","sound":1}}"#, "aps.sound must be a string or a dictionary."),
        ("alert", #"{"aps":{"alert":"a","sound":null}}"#, "aps.sound must be a string or a dictionary."),
        ("alert", #"{"aps":{"alert":"a","sound":{"file":"a"}}}"#, "aps.sound.file is not a key of a sound."),
        ("alert", #"{"aps":{"alert":"a","sound":{"name":1}}}"#, "aps.sound.name must be a string."),
        ("alert", #"{"aps":{"alert":"a","sound":{"volume":2}}}"#, "aps.sound.volume must be a number from 0 to 1."),
        ("alert", #"{"aps":{"alert":"a","category":7}}"#, "aps.category must be a string."),
        ("alert", #"{"aps":{"alert":"a","interruption-level":"loud"}}"#, "aps.interruption-level is loud;"),
        ("alert", #"{"aps":{"alert":"a","relevance-score":2}}"#, "aps.relevance-score must be a number from 0 to 1."),
        ("alert", #"{"aps":{"alert":"a","content_available":1}}"#, "aps.content_available is not a key"),
        ("alert", #"{"aps":{"alert":"a","thread-id":1}}"#, "aps.thread-id must be a string."),
        ("alert", #"{"aps":{"alert":"a"},"thread-id":"t"}"#, "thread-id is beside aps;"),
        ("alert", #"{"aps":{"alert":"a","apns-collapse-id":"c"}}"#, "apns-collapse-id is in the payload;"),
        ("alert", #"{"aps":{"alert":"a"},"collapse-id":"c"}"#, "collapse-id is in the payload;"),
        ("alert", #"{"aps":{"alert":"a","event":"update"}}"#, "aps.event is not for the push type alert,"),
        ("alert", #"{"aps":{"alert":"a","content-state":{}}}"#, "aps.content-state is not for the push type alert,"),
        (
            "background", #"{"aps":{"content-available":1,"sound":"a"}}"#,
            "aps.sound is not for the push type background,"
        ),
        ("alert", #"{"aps":{"alert":"a","alert":"b"}}"#, "The payload or its aps dictionary has a key twice,"),
        ("alert", #"{"aps":{"alert":{"title":"a","loc-key":"k","loc-args":["1"],"launch-image":"l"}}}"#, nil),
        ("alert", #"{"aps":{"alert":{"boddy":"x"}}}"#, "aps.alert.boddy is not a key of an alert."),
        ("alert", #"{"aps":{"alert":{"title":5}}}"#, "aps.alert.title must be a string."),
        ("alert", #"{"aps":{"alert":{"body":"a","thread-id":"t"}}}"#, "aps.alert.thread-id is not a key of an alert."),
        (
            "alert", #"{"aps":{"alert":{"loc-key":"k","loc-args":["1",2]}}}"#,
            "aps.alert.loc-args must be an array of strings."
        ),
        ("alert", #"{"aps":{"alert":{"title":"a","title":"b"}}}"#, "aps.alert has a key twice,"),
        (
            "liveactivity",
            #"{"aps":{"event":"update","timestamp":1,"content-state":{},"alert":{"title":{"loc-key":"k","loc-args":["1"]},"sound":"s"}}}"#,
            nil
        ),
        (
            "liveactivity", #"{"aps":{"event":"update","content-state":{},"alert":{"title":{"key":"k"}}}}"#,
            "aps.alert.title must be a string or a dictionary with loc-key and loc-args."
        ),
        (
            "alert",
            #"{"aps":{"alert":{"body":"a","title-loc-key":null,"title-loc-args":null,"action-loc-key":null}}}"#,
            nil
        ),
        ("alert", #"{"aps":{"alert":{"loc-key":null,"body":"a"}}}"#, "aps.alert.loc-key must be a string."),
        ("alert", #"{"aps":{"alert":{}}}"#, "aps shows nothing:"),
        ("alert", #"{"aps":{"alert":""}}"#, "aps shows nothing:"),
        ("alert", #"{"aps":{"alert":{"launch-image":"l"}}}"#, "aps shows nothing:"),
        ("alert", #"{"aps":{"alert":{"loc-args":["1"]}}}"#, "aps shows nothing:"),
        ("alert", #"{"aps":{"alert":{"title-loc-key":null}}}"#, "aps shows nothing:"),
        ("alert", #"{"aps":{"sound":""}}"#, "aps shows nothing:"),
        ("alert", #"{"aps":{"alert":{},"badge":1}}"#, nil),
        ("alert", #"{"aps":{"alert":"","sound":"s"}}"#, nil),
        ("alert", #"{"aps":{"alert":{"loc-key":"k"}}}"#, nil),
        (
            "alert", #"{"aps":{"alert":"a","relevance-score":1e400}}"#,
            "aps.relevance-score must be a number from 0 to 1."
        ),
        ("alert", #"{"aps":{}}"#, "aps has no alert, badge or sound,"),
        ("alert", #"{"aps":{"badge":0}}"#, nil),
        ("alert", #"{"aps":{"sound":"s","category":"c"}}"#, "aps.category needs aps.alert."),
        ("alert", #"{"aps":{"alert":"a","content-available":2}}"#, "aps.content-available must be 1."),
        ("background", #"{"aps":{"content-available":1}}"#, nil),
        ("background", #"{"aps":{}}"#, "aps has no content-available,"),
    ]

    /// The start of a Live Activity, with further keys.
    private static func started(_ more: String) -> String {
        #"{"aps":{"event":"start","timestamp":1,"attributes-type":"M","attributes":{},"content-state":{}\#(more)}}"#
    }

    @Test func `Each error says what is wrong and where`() async throws {
        try await TestService.run {
            $0.conformance = .strict
            $0.delivery.silentsPerApp.burst = 100
        } _: { test in
            let client = try await test.connectProvider()
            let (token, provider) = (try await test.makeDeviceToken(), try test.providerToken())
            for (type, payload, detail) in Self.payloads {
                let topic = test.bundleID + (type == "liveactivity" ? ".push-type.liveactivity" : "")
                let headers = ProviderHeaders(token, topic: topic, token: provider)
                    .with("apns-push-type", type).with("apns-priority", type == "background" ? "5" : "10")
                let answer = try await client.send(headers.fields, body: payload)
                #expect(answer.reason == (detail == nil ? nil : "PayloadEmpty"), "\(payload) \(answer.body)")
                if let detail {
                    #expect(answer.body.contains(#""detail":"\#(detail)"#), "\(payload) \(answer.body)")
                }
            }
            await client.close()
        }
    }
}
