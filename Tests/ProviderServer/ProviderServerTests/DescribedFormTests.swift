import CampaignStore
import HTTPAPI
import Notifications
import Testing

@testable import ProviderServer

/// `/openapi.json` says of messages, audiences and patches what the server checks.
struct DescribedFormTests {
    private static func value(_ text: String) throws -> JSONValue {
        try #require(JSONValue(Array(text.utf8), maximumDepth: 20))
    }

    private static func allows(_ schema: Schema, _ value: JSONValue) -> Bool { (try? schema.check(value)) != nil }

    // MARK: Messages

    private static func message(_ member: String) throws -> JSONValue {
        try value(#"{"audience":{"everybody":true},"payload":{"aps":{"alert":"x"}}}"#).merging(try value("{\(member)}"))
    }

    @Test(arguments: [
        #""bundleID":"com.example.app""#, #""activity":"order-1""#, #""fallbackLanguage":"sv-SE""#, #""rate":1"#,
        #""dryRun":true"#, #""quietHours":{"from":"22:00","to":"08:00"}"#, #""localTime":"2027-01-31T09:00""#,
        #""sendAt":"2027-01-31T09:00:00Z""#, #""values":{"a":1}"#, #""topic":"com.example.app""#,
        #""audience":{"installations":["phone"],"users":{"anna":{"a":1}},"language":"sv"}"#,
        #""audience":{"saved":"friends"}"#,
    ])
    func `A message that the description allows is read`(_ member: String) throws {
        let message = try Self.message(member)
        #expect(Self.allows(ProviderMessages.MessageRequest.form.schema, message))
        #expect(throws: Never.self) { try MessageDefinition(message) }
    }

    @Test(arguments: [
        (#""bundleID":"an app""#, "/bundleID"), (#""activity":"an order""#, "/activity"),
        (#""activity":"..""#, "/activity"),
        (#""fallbackLanguage":"in Swedish""#, "/fallbackLanguage"), (#""rate":0"#, "/rate"),
        (#""dryRun":1"#, "/dryRun"),
        (#""quietHours":{"from":"22:00"}"#, "/quietHours"),
        (#""quietHours":{"from":"24:00","to":"08:00"}"#, "/quietHours/from"),
        (#""localTime":"soon""#, "/localTime"), (#""values":[]"#, "/values"), (#""texts":[]"#, "/texts"),
        (#""payload":[]"#, "/payload"), (#""other":1"#, "/other"),
        (#""audience":{"saved":"my friends"}"#, "/audience/saved"),
        (#""audience":{"installations":"phone"}"#, "/audience/installations"),
        (#""audience":{"users":[]}"#, "/audience/users"), (#""audience":{"users":["a",1]}"#, "/audience/users/1"),
        (#""audience":{"bundleID":"com.example.app"}"#, "/audience/bundleID"), (#""collapseID":"""#, "/collapseID"),
    ])
    func `A message that the description does not allow is refused at the same place`(
        _ member: String, _ pointer: String
    ) throws {
        let message = try Self.message(member)
        let described = #expect(throws: Problem.self) { try ProviderMessages.MessageRequest.form.schema.check(message) }
        let checked = #expect(throws: Problem.self) { try MessageDefinition(message) }
        #expect(described?.pointer == pointer && checked?.pointer == pointer)
    }

    @Test func `A stored message of an earlier version with a fallback that is no language is still read`() throws {
        let message = try Self.message(#""fallbackLanguage":"in Swedish","audience":{"saved":{"tags":"news"}}"#)
        let document = try MessageDefinition(stored: Array(message.text.utf8))
        #expect(document.audience.expression != nil && document.savedAudience == nil)
    }

    @Test func `The rate of a message is described, and null removes it`() throws {
        let form = ProviderMessages.MessagePatch.form
        let rate = try #require(form.schema.definition.members["properties"]?.members["rate"]?.members["oneOf"])
        #expect(rate.text.contains(#""integer""#) && rate.text.contains(#""null""#))
        let patches = [
            (#"{"rate":null}"#, true), (#"{"rate":5}"#, true), (#"{}"#, false), (#"{"rate":"5"}"#, false),
        ]
        for (text, isAllowed) in patches {
            let value = try Self.value(text)
            #expect(Self.allows(form.schema, value) == isAllowed)
            #expect(((try? form.read(value)) != nil) == isAllowed)
        }
        #expect(try form.read(Self.value(#"{"rate":null}"#)).rate == nil)
        #expect(try form.read(Self.value(#"{"rate":5}"#)).rate == 5)
    }

    // MARK: Installations

    private static func patched(_ patch: JSONValue) throws -> Installation {
        let now = Timestamp(seconds: 1_800_000_000)
        var known = Installation(id: "phone", deviceToken: "00", environment: .production, registered: now)
        known.tags = ["news"]
        return try ProviderMessages.InstallationRequest(merging: patch, into: known).installation(
            "phone", registered: now, now: now)
    }

    @Test(arguments: [
        #"{}"#, #"{"environment":"development"}"#, #"{"environment":null}"#, #"{"tags":["a"]}"#, #"{"tags":null}"#,
        #"{"tags":{"add":["a"],"remove":["news"]}}"#, #"{"values":{"a":null}}"#, #"{"tokens":{"voip":"00"}}"#,
        #"{"tokens":{"voip":null}}"#, #"{"timeZone":null}"#, #"{"deviceToken":"01"}"#, #"{"badge":null}"#,
    ])
    func `A patch of an installation that the description allows is read`(_ text: String) throws {
        let patch = try Self.value(text)
        #expect(Self.allows(ProviderMessages.InstallationRequest.patchSchema, patch))
        #expect(throws: Never.self) { try Self.patched(patch) }
    }

    @Test(arguments: [
        #"{"environment":"sandbox"}"#, #"{"tags":"a"}"#, #"{"tags":{"put":["a"]}}"#, #"{"tags":{"add":["a b"]}}"#,
        #"{"tokens":{"voip":"x"}}"#, #"{"timeZone":"Mars"}"#, #"{"deviceToken":null}"#, #"{"badge":-1}"#,
        #"{"other":1}"#,
    ])
    func `A patch of an installation that the description does not allow is refused`(_ text: String) throws {
        let patch = try Self.value(text)
        #expect(!Self.allows(ProviderMessages.InstallationRequest.patchSchema, patch))
        #expect(throws: Problem.self) { try Self.patched(patch) }
    }

    @Test func `The bundle ID of an installation is one`() throws {
        let document = try ProviderMessages.InstallationRequest(
            Self.value(#"{"bundleID":"an app","deviceToken":"00"}"#))
        #expect(throws: Problem.self) { try document.bundleID }
    }
}
