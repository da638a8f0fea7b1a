import Foundation
import Testing

@testable import APNSProvider

/// Payloads as the Guide shows them, and its rules.
struct PayloadTests {
    private struct Acme: Encodable {
        var acme1: String?
        var acme2: [String]?
        var acme: String?
    }

    private func json(_ aps: APS, custom: Acme? = nil) throws -> String {
        let payload = try custom.map { try PushPayload(aps, custom: $0) } ?? PushPayload(aps)
        #expect(payload.count == payload.json.count)
        return String(decoding: payload.json, as: UTF8.self)
    }

    private func problem(_ body: () throws -> Void) -> ProviderError? {
        #expect(throws: ProviderError.self, performing: body)
    }

    // MARK: The Guide's examples (2.2.1)

    @Test func `Example 1`() throws {
        #expect(
            try json(APS(alert: "Message received from Bob"), custom: Acme(acme2: ["bang", "whiz"]))
                == #"{"aps":{"alert":"Message received from Bob"},"acme2":["bang","whiz"]}"#)
    }

    @Test func `Example 2`() throws {
        let alert = APS.Alert(title: "Game Request", body: "Bob wants to play poker", actionLocKey: "PLAY")
        #expect(
            try json(APS(alert: alert, badge: 5), custom: Acme(acme1: "bar", acme2: ["bang", "whiz"]))
                == #"{"aps":{"alert":{"title":"Game Request","body":"Bob wants to play poker","action-loc-key":"PLAY"},"#
                + #""badge":5},"acme1":"bar","acme2":["bang","whiz"]}"#)
    }

    @Test func `Example 3`() throws {
        #expect(
            try json(APS(alert: "You got your emails.", badge: 9, sound: .named("bingbong.aiff")))
                == #"{"aps":{"alert":"You got your emails.","badge":9,"sound":"bingbong.aiff"}}"#)
    }

    @Test func `Example 4`() throws {
        let alert = APS.Alert(locKey: "GAME_PLAY_REQUEST_FORMAT", locArgs: ["Jenna", "Frank"])
        #expect(
            try json(APS(alert: alert, sound: .named("chime.aiff")), custom: Acme(acme: "foo"))
                == #"{"aps":{"alert":{"loc-key":"GAME_PLAY_REQUEST_FORMAT","loc-args":["Jenna","Frank"]},"#
                + #""sound":"chime.aiff"},"acme":"foo"}"#)
    }

    // MARK: Text

    @Test func `Text is escaped and everything else stays`() throws {
        #expect(
            try json(APS(alert: "\"quoted\" \\ \n 你好 🎉 a/b"))
                == #"{"aps":{"alert":"\"quoted\" \\ \n 你好 🎉 a/b"}}"#)
    }

    @Test func `Given JSON loses its white space`() throws {
        let payload = try PushPayload(json: Array("{ \"aps\" : { \"alert\" : \"a  b\" } }\n".utf8))
        #expect(String(decoding: payload.json, as: UTF8.self) == #"{"aps":{"alert":"a  b"}}"#)
    }

    // MARK: Rules

    @Test func `Keys of your own are a dictionary without APS`() {
        #expect(problem { _ = try PushPayload(APS(alert: "a"), custom: [1, 2]) }?.code == .badNotification)
        #expect(problem { _ = try PushPayload(APS(alert: "a"), custom: ["aps": 1]) }?.code == .badNotification)
    }

    @Test(arguments: ["", "[]", "{", "{\"aps\":}", "{\"a\":\"\u{0}\"}"]) func `What is no dictionary`(_ text: String) {
        #expect(problem { _ = try PushPayload(json: Array(text.utf8)) }?.code == .badNotification)
    }

    @Test func `A category needs an alert`() {
        #expect(problem { _ = try PushPayload(APS(sound: .default, category: "a")) }?.cause.contains("2.2.3") == true)
        let json = Array(#"{"aps":{"category":"a"}}"#.utf8)
        #expect(problem { _ = try PushPayload(json: json) }?.cause.contains("2.2.3") == true)
    }

    @Test(arguments: [-0.1, 1.1, Double.nan, .infinity]) func `Numbers stay in their ranges`(_ number: Double) {
        #expect(problem { _ = try PushPayload(APS(alert: "a", relevanceScore: number)) } != nil)
        #expect(problem { _ = try PushPayload(APS(sound: .critical(volume: number))) } != nil)
    }

    @Test func `A negative badge is none`() {
        #expect(problem { _ = try PushPayload(APS(badge: -1)) } != nil)
    }

    @Test func `Silent is silent`() throws {
        let notification = try PushNotification(topic: Sample.topic, .silent)
        #expect(notification.pushType == .background)
        #expect(notification.priority == .considerate)
        #expect(notification.payload.isSilent)
    }

    @Test func `Priority ten is an error for a silent notification`() {
        let error = problem { _ = try PushNotification(topic: Sample.topic, .silent, priority: .immediate) }
        #expect(error?.cause.contains("Table 8-2") == true)
    }

    /// The services of an app, by the suffixes of their topics, and `mdm` with its topic.
    private static let services = PushNotification.PushType.allCases.filter { $0 == .mdm || $0.topic(for: "") != "" }

    @Test(arguments: services) func `A push of another service is no silent notification`(
        _ type: PushNotification.PushType
    ) throws {
        let topic = type.topic(for: Sample.topic)
        let unmarked = try PushNotification(topic: topic, .silent, pushType: type)
        #expect(unmarked.priority == nil)
        let immediate = try PushNotification(topic: topic, .silent, pushType: type, priority: .immediate)
        #expect(immediate.priority == .immediate)
    }

    @Test(arguments: services.filter { $0 != .mdm }) func `The topic names the push type that is not given`(
        _ type: PushNotification.PushType
    ) throws {
        let topic = type.topic(for: Sample.topic)
        #expect(try PushNotification(topic: topic, .silent, priority: .immediate).pushType == type)
        #expect(try PushNotification(topic: topic, APS(alert: "a")).pushType == type)
    }

    /// With the push type alert, a provider says that the notification is not silent.
    @Test func `The rules for silent ones are for background and none`() throws {
        let alert = try PushNotification(topic: Sample.topic, .silent, pushType: .alert, priority: .immediate)
        #expect(alert.priority == .immediate)
        let error = problem {
            _ = try PushNotification(topic: Sample.topic, .silent, pushType: .background, priority: .immediate)
        }
        #expect(error?.cause.contains("Table 8-2") == true)
    }

    @Test(arguments: [
        APS(alert: "a", contentAvailable: true), APS(badge: 1, contentAvailable: true),
        APS(sound: .default, contentAvailable: true), APS(alert: "a"),
    ])
    func `Background takes content available alone`(_ aps: APS) {
        let error = problem { _ = try PushNotification(topic: Sample.topic, aps, pushType: .background) }
        #expect(error?.cause.contains("2.2.2") == true)
    }

    @Test func `Sizes are limited by push type`() throws {
        func notification(_ bytes: Int, _ type: PushNotification.PushType) throws -> PushNotification {
            let frame = #"{"aps":{"alert":""}}"#.utf8.count
            let alert = APS.Alert(body: String(repeating: "x", count: bytes - frame))
            let payload = try PushPayload(APS(alert: alert))
            #expect(payload.count == bytes)
            return try PushNotification(topic: type.topic(for: Sample.topic), payload: payload, pushType: type)
        }
        _ = try notification(4096, .alert)
        _ = try notification(5120, .voip)
        #expect(problem { _ = try notification(4097, .alert) } != nil)
        #expect(problem { _ = try notification(5121, .voip) } != nil)
    }

    @Test(arguments: PushNotification.PushType.allCases) func `Topics go with their push type`(
        _ type: PushNotification.PushType
    ) throws {
        let aps: APS = type == .background ? .silent : APS(alert: "a")
        let topic = type.topic(for: Sample.topic)
        #expect(try PushNotification(topic: topic, aps, pushType: type).topic == topic)
        if topic != Sample.topic {
            #expect(problem { _ = try PushNotification(topic: Sample.topic, aps, pushType: type) } != nil)
        }
    }

    @Test func `Push types as they stand in the header`() {
        let all: [PushNotification.PushType] = [
            .alert, .background, .voip, .complication, .fileProvider, .location, .liveActivity, .pushToTalk, .controls,
            .widgets, .mdm,
        ]
        #expect(Set(all) == Set(PushNotification.PushType.allCases))
        #expect(
            all.map(\.rawValue) == [
                "alert", "background", "voip", "complication", "fileprovider", "location", "liveactivity", "pushtotalk",
                "controls", "widgets", "mdm",
            ])
        #expect(PushNotification.PushType(rawValue: "Alert") == nil)
    }

    @Test func `The collapse identifier has sixty four bytes`() throws {
        let fitting = String(repeating: "é", count: 32)
        #expect(
            try PushNotification(topic: Sample.topic, APS(alert: "a"), collapseID: fitting).collapseID == fitting)
        for bad in [fitting + "x", "", "a\nb"] {
            #expect(problem { _ = try PushNotification(topic: Sample.topic, APS(alert: "a"), collapseID: bad) } != nil)
        }
    }

    @Test(arguments: ["", "a b", "a/b", "ä", String(repeating: "a", count: 256)]) func `What is no topic`(
        _ topic: String
    ) {
        #expect(problem { _ = try PushNotification(topic: topic, APS(alert: "a")) } != nil)
    }

    @Test func `Headers as they go out`() throws {
        let id = try #require(UUID(uuidString: "8B1E5B4A-9C0C-4D5E-8F00-0123456789AB"))
        let notification = try PushNotification(
            topic: Sample.topic, APS(alert: "a"), id: id, expiration: .at(Date(timeIntervalSince1970: 1.9)),
            priority: .low, collapseID: "c")
        let request = notification.request(to: try #require(DeviceToken("00FF")))
        #expect(request.deviceToken == "00ff")
        #expect(request.id == "8b1e5b4a-9c0c-4d5e-8f00-0123456789ab")
        #expect(request.expiration == "1")
        #expect(request.priority == "1")
        #expect(request.pushType == "alert")
    }

    @Test func `Expirations`() {
        #expect(PushNotification.Expiration.unspecified.seconds == nil)
        #expect(PushNotification.Expiration.immediately.seconds == 0)
        // An expiration of 0 would mean a single attempt, which nobody asked for.
        #expect(PushNotification.Expiration.at(Date(timeIntervalSince1970: -5)).seconds == 1)
        #expect(PushNotification.Expiration.at(Date(timeIntervalSince1970: .infinity)).seconds == .max)
    }

    @Test(arguments: ["", "0", "xy", "0g", String(repeating: "0", count: 202)]) func `What is no device token`(
        _ text: String
    ) {
        #expect(DeviceToken(text) == nil)
    }

    // MARK: Languages

    @Test(arguments: [
        (["fr-CA", "en"], "Bonjour"), (["de-AT"], "Hallo"), (["nl", "zh-Hant-TW"], "你好"), (["zh-Hans"], "Hello"),
        (["zh-TW"], "你好"), (["zh-HK", "en"], "你好"), (["zh-CN"], "Hello"), (["zh"], "Hello"),
        (["FR_ca"], "Bonjour"), ([], "Hello"), (["nl"], "Hello"), (["de-x-formal"], "Hallo"), (["en-GB", "fr"], "Hi"),
    ])
    func `The users language`(_ languages: [String], _ expected: String) {
        let greeting = Localized(
            ["en": "Hi", "fr": "Bonjour", "de": "Hallo", "zh-Hant": "你好"], fallback: "Hello")
        #expect(greeting.best(for: languages) == expected)
    }

    // MARK: Environments

    @Test func `Addresses`() throws {
        let custom = try APNSEnvironment.custom(url: "https://[::1]:2197")
        #expect(custom.host == "::1")
        #expect(custom.authorityHeader == "[::1]:2197")
        #expect(custom.tlsName == nil)
        #expect(APNSEnvironment.production.onAlternativePort.port == 2197)
        #expect(APNSEnvironment.development.authorityHeader == "api.development.push.apple.com")
        #expect(APNSEnvironment.development.tlsName == "api.development.push.apple.com")
    }

    @Test(arguments: [
        "", "localhost", "http://localhost", "https://", "https://localhost:0", "https://localhost:99999",
        "https://user:secret@localhost", "https://user@localhost", "https://localhost/3/device",
        "https://localhost?secret", "https://localhost#secret",
    ])
    func `What is no address`(_ url: String) {
        let problem = problem { _ = try APNSEnvironment.custom(url: url) }
        #expect(problem?.code == .badEnvironment)
        #expect(problem?.cause.contains("secret") == false)
    }

    @Test(arguments: ["https://localhost:2197", "HTTPS://localhost:2197", "https://localhost:2197/"])
    func `What is an address`(_ url: String) throws {
        let environment = try APNSEnvironment.custom(url: url)
        #expect(environment.host == "localhost" && environment.port == 2197 && environment.tlsName == "localhost")
    }
}
