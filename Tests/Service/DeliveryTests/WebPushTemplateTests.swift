import Delivery
import Notifications
import Testing

struct WebPushTemplateTests {
    private static let draft = WebPushMessage(body: [1, 2, 3, 4, 5], encoding: .aesgcm, dh: "_-8A", salt: "AAEC")

    private static func template(_ text: String) throws -> WebPushTemplate {
        try WebPushTemplate(text: Array(text.utf8))
    }

    private static func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }

    @Test func `Objects stand for the parts of a message, and everything else stays`() throws {
        let template = try Self.template(
            #"""
            {"aps":{"alert":"\u00e9","badge":1.50e1},"é":{"é":[1,{"$webPush":"body"}]},"z":{"$webPush":"body","as":"z85"},
             "k":{"$webPush":"dh"},"kz":{"$webPush":"dh","as":"z85"},"s":{"$webPush":"salt","as":"base64url"},
             "e":{"$webPush":"encoding"},"n":{"$webPush":"subscription"},"x":{"$webPush":"extra"},"f":{"$webPush":"fetch"}}
            """#)
        let payload = template.payload(.init(Self.draft, subscription: #"a"b"#, extra: "1/2"))
        #expect(
            Self.text(payload)
                == #"{"aps":{"alert":"é","badge":1.50e1},"e":"aesgcm","k":"_-8A","kz":"\#(Self.text(Z85.encoded([255, 239, 0])))","#
                + #""n":"a\"b","s":"AAEC","x":"1/2","z":"0rJua05","é":{"é":[1,"AQIDBAU"]}}"#)
    }

    @Test func `A key whose part is missing is left out, in an array the element`() throws {
        let template = try Self.template(
            #"{"aps":{},"a":[{"$webPush":"extra"},1],"b":{"$webPush":"body"},"d":{"x":{"$webPush":"dh"}},"e":{"$webPush":"encoding"}}"#
        )
        let plain = WebPushMessage(body: [])
        #expect(Self.text(template.payload(.init(plain))) == #"{"a":[1],"aps":{},"d":{}}"#)
    }

    @Test func `With the URL of a body, the body is left out`() throws {
        let template = try Self.template(#"{"aps":{},"b":{"$webPush":"body"},"f":{"$webPush":"fetch"}}"#)
        let payload = template.payload(.init(Self.draft), fetch: "https://a/wp/f/x")
        #expect(Self.text(payload) == #"{"aps":{},"f":"https://a/wp/f/x"}"#)
    }

    @Test(arguments: [
        ("[]", ""), ("{", ""), ("{}", "/aps"), (#"{"aps":1}"#, "/aps"), (#"{"aps":{},"aps":{}}"#, "/aps"),
        (#"{"$webPush":"body"}"#, ""), (#"{"aps":{"$webPush":"body"}}"#, "/aps"),
        (#"{"aps":{"a":{"$webPush":"bodi"}}}"#, "/aps/a/$webPush"),
        (#"{"aps":{},"a/b":[0,{"$webPush":1}]}"#, "/a~1b/1/$webPush"),
        (#"{"aps":{},"b":{"$webPush":"body","as":"z86"}}"#, "/b/as"),
        (#"{"aps":{},"b":{"$webPush":"body","as":"z85","to":1}}"#, "/b/to"),
        (#"{"aps":{},"b":{"$webPush":"extra","as":"z85"}}"#, "/b/as"),
    ])
    func `The fault of a template says where it is`(_ text: String, _ pointer: String) throws {
        let fault = #expect(throws: WebPushTemplate.Fault.self) { try Self.template(text) }
        #expect(fault?.pointer == pointer && fault?.detail.isEmpty == false, "\(fault?.detail ?? "")")
    }

    @Test func `A template has at most 4,096 bytes and 16 levels`() throws {
        let frame = #"{"aps":{},"t":""}"#.utf8.count
        for (count, isAllowed) in [(4096 - frame, true), (4097 - frame, false)] {
            let text = #"{"aps":{},"t":"\#(String(repeating: "x", count: count))"}"#
            #expect(((try? Self.template(text)) != nil) == isAllowed)
        }
        for (levels, isAllowed) in [(15, true), (16, false)] {
            let text =
                #"{"aps":{},"t":"# + String(repeating: "[", count: levels) + String(repeating: "]", count: levels) + "}"
            #expect(((try? Self.template(text)) != nil) == isAllowed)
            // A value of the management API has been read by another reader.
            let value = try #require(JSONValue(Array(text.utf8)))
            #expect(((try? WebPushTemplate(value)) != nil) == isAllowed)
        }
    }

    @Test(arguments: [WebPushTemplate.usual, .tootRelay])
    func `A built-in template is one that could be read`(_ template: WebPushTemplate) throws {
        let read = try WebPushTemplate(template.document)
        #expect(read == template)
        for part in WebPushTemplate.Part.allCases { #expect(read.has(part) == template.has(part)) }
    }

    @Test func `The usual template carries 2,900 bytes, and shows a text if the app's extension does not run`() {
        let message = WebPushMessage(body: [UInt8](repeating: 7, count: 2900), encoding: .aes128gcm)
        let name = String(repeating: "n", count: 60)
        #expect(WebPushTemplate.usual.payload(.init(message, subscription: name)).count <= Payload.maximumBytes)
        let payload = Self.text(WebPushTemplate.usual.payload(.init(Self.draft, subscription: "a")))
        #expect(
            payload
                == #"{"aps":{"alert":{"body":"New notification","loc-key":"New notification"},"mutable-content":1},"#
                + #""subscription":"a","webPush":{"body":"AQIDBAU","dh":"_-8A","encoding":"aesgcm","salt":"AAEC"}}"#)
    }

    /// Mastodon's webpush-apn-relay writes `alert`, `mutable-content`, `content-available`, and p, k, s and x.
    @Test func `toot-relay is what the public relays send`() {
        let payload = Self.text(WebPushTemplate.tootRelay.payload(.init(Self.draft, extra: "account")))
        #expect(
            payload
                == #"{"aps":{"alert":"🎺","content-available":1,"mutable-content":1},"k":"rqIZ","p":"0rJua05","s":"0031","x":"account"}"#
                .replacing("rqIZ", with: Self.text(Z85.encoded([255, 239, 0])))
                .replacing("0031", with: Self.text(Z85.encoded([0, 1, 2]))))
        let encrypted = WebPushMessage(body: [1], encoding: .aes128gcm)
        #expect(
            Self.text(WebPushTemplate.tootRelay.payload(.init(encrypted)))
                == #"{"aps":{"alert":"🎺","content-available":1,"mutable-content":1},"p":"01"}"#)
    }
}
