import Notifications
import Testing

@testable import APNSDevice

struct PayloadReadingTests {
    private func content(
        _ payload: String, _ localizations: Localizations = Localizations(), languages: [String] = ["en"],
    ) -> NotificationContent {
        NotificationContent(PayloadReading(Array(payload.utf8)), localizations, languages: languages)
    }

    @Test func `Every key of the Guide's tables is read`() {
        let reading = PayloadReading(
            Array(
                #"""
                {"aps":{"alert":{"title":"T","subtitle":"S","body":"B","launch-image":"L"},"badge":9,
                "sound":{"critical":1,"name":"chime.aiff","volume":0.5},"content-available":1,"mutable-content":1,
                "category":"C","thread-id":"X","target-content-id":"Y","interruption-level":"time-sensitive",
                "relevance-score":0.25,"filter-criteria":"F"}}
                """#.utf8))
        #expect(reading.isContentAvailable && reading.isMutable && !reading.isSilent)
        let content = NotificationContent(reading, Localizations(), languages: [])
        #expect(content.title == "T" && content.subtitle == "S" && content.body == "B" && content.launchImage == "L")
        #expect(content.badge == 9 && content.category == "C" && content.threadID == "X")
        #expect(content.sound == NotificationContent.Sound(name: "chime.aiff", isCritical: true, volume: 0.5))
        #expect(content.targetContentID == "Y" && content.interruptionLevel == .timeSensitive)
        #expect(content.relevanceScore == 0.25 && content.filterCriteria == "F")
    }

    @Test func `An alert that is only a text is the body`() {
        #expect(content(#"{"aps":{"alert":"Hello"}}"#).body == "Hello")
    }

    @Test(arguments: [
        (#"{"aps":{"content-available":1}}"#, true), (#"{"aps":{"content-available":1,"alert":"x"}}"#, false),
        (#"{"aps":{"content-available":1,"badge":0}}"#, false),
        (#"{"aps":{"content-available":1,"sound":"x"}}"#, false), (#"{"aps":{"content-available":0}}"#, false),
        (#"{"aps":{"content-available":"1"}}"#, false), (#"{"aps":{}}"#, false), ("{}", false),
    ])
    func `A silent notification is recognised`(_ payload: String, _ isSilent: Bool) {
        #expect(PayloadReading(Array(payload.utf8)).isSilent == isSilent)
    }

    @Test(arguments: [
        #"{"aps":{"content-available":true}}"#, #"{"aps":{"content-available":1.0}}"#,
        #"{"aps":{"content-available":10e-1}}"#, #"{"aps":{"content-available":0,"content-available":1}}"#,
        #"{"aps":{"content-available":1,"badge":"x"}}"#, #"{"aps":{"content-available":"true"}}"#,
        #"{"aps":{"alert":"a"},"aps":{"content-available":1}}"#,
        #"{"aps":{"alert":"a","alert":null,"content-available":1}}"#,
    ])
    func `The device and the service agree on what is silent`(_ payload: String) throws {
        let reading = PayloadReading(Array(payload.utf8))
        let known = try Payload(Array(payload.utf8))
        #expect(reading.isSilent == known.isSilent)
        #expect(reading.isContentAvailable == known.contents.contains(.contentAvailable))
    }

    @Test func `What the service accepts is shown: half a character, numbers beyond every Double, keys twice`() {
        #expect(content(#"{"aps":{"alert":"hi \ud83d"}}"#).body == "hi \u{fffd}")
        #expect(content(#"{"aps":{"alert":"x","badge":1e400},"n":1e400}"#).body == "x")
        #expect(content(#"{"aps":{"alert":"a","alert":"b"}}"#).body == "b")
        #expect(content(#"{"aps":{"alert":"a"},"aps":{"alert":"b"}}"#).body == "b")
        let arguments = #"{"aps":{"alert":{"loc-key":"GAME","loc-args":[18446744073709551615,1.50]}}}"#
        #expect(content(arguments, game).body == "18446744073709551615 and 1.50 play")
        let activity = #"{"aps":{"alert":{"title":{"loc-key":"PLAY"},"body":{"loc-key":"GAME","loc-args":["a","b"]}}}}"#
        #expect(content(activity, game).title == "Play" && content(activity, game).body == "a and b play")
    }

    @Test(arguments: [
        "", "[]", "{", #"{"aps":7}"#, #"{"aps":[]}"#, #"{"aps":{"alert":7,"badge":"x","sound":[],"category":{}}}"#,
        #"{"aps":{"alert":{"title":7,"body":[],"loc-args":7},"badge":1e300,"thread-id":null}}"#,
        #"{"aps":{"interruption-level":"loud","relevance-score":"x","mutable-content":[1]}}"#,
    ])
    func `A key with a value of another type counts as missing`(_ payload: String) {
        #expect(content(payload) == NotificationContent())
    }

    @Test(arguments: [("0.5", 0.5), ("7", 1), ("-1", 0)])
    func `The relevance score is between 0 and 1`(_ written: String, _ score: Double) {
        #expect(content(#"{"aps":{"relevance-score":\#(written)}}"#).relevanceScore == score)
    }

    @Test(arguments: [("5", 5), ("0", 0), ("-3", 0), ("2.0", 2)])
    func `The badge is read`(_ written: String, _ badge: Int) {
        #expect(content(#"{"aps":{"badge":\#(written)}}"#).badge == badge)
    }

    private let game = Localizations(["en": StringsTable(["GAME": "%@ and %@ play", "PLAY": "Play"])])

    @Test func `Texts are looked up by their keys, with their arguments`() {
        let shown = content(
            #"{"aps":{"alert":{"title-loc-key":"PLAY","subtitle-loc-key":"GAME","subtitle-loc-args":["a",2],"#
                + #""loc-key":"GAME","loc-args":["Jenna","Frank"],"action-loc-key":"PLAY"}}}"#, game)
        #expect(shown.title == "Play" && shown.subtitle == "a and 2 play" && shown.body == "Jenna and Frank play")
        #expect(shown.actionTitle == "Play")
    }

    @Test func `If a key is found, its text is shown; otherwise the given text, or else the key itself`() {
        #expect(content(#"{"aps":{"alert":{"body":"x","loc-key":"PLAY"}}}"#, game).body == "Play")
        #expect(content(#"{"aps":{"alert":{"body":"x","loc-key":"NONE"}}}"#, game).body == "x")
        #expect(content(#"{"aps":{"alert":{"loc-key":"NONE","loc-args":["a"]}}}"#, game).body == "NONE")
        #expect(content(#"{"aps":{"alert":{"title-loc-key":null,"title":"x"}}}"#, game).title == "x")
    }
}
