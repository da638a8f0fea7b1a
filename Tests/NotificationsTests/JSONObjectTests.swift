import Notifications
import Testing

@Suite("JSON on the protocols' lines")
struct JSONObjectTests {
    private static func object(_ text: String) throws -> JSONObject {
        try #require(JSONObject(Array(text.utf8)))
    }

    private static func raw(_ object: JSONObject, _ key: String) -> String? {
        object[raw: key].map { String(decoding: $0, as: UTF8.self) }
    }

    @Test(
        "a value is had as it stands in the text",
        arguments: [
            "1", "-1.5e+3", "true", "false", "null", #""""#, #""a b""#, #""\"}],{[""#, "{}", "[]",
            #"{"a":{"b":[1,2]}}"#,
            #"[{"a":"]"},{"b":"}"}]"#, #"{ "a" : [ 1 , 2 ] }"#, #""é😀""#, #""\\""#,
        ])
    func rawValues(_ value: String) throws {
        for text in [
            #"{"k":\#(value)}"#, #"{"k":\#(value),"z":0}"#, #"{"a":[{}],"k":\#(value)}"#,
            " {\n\"a\" : \"\\\\\" , \"k\"\t:  \(value)  , \"z\" : 0 } \n",
        ] {
            #expect(Self.raw(try Self.object(text), "k") == value)
        }
    }

    @Test("every key of the outermost level is found, and none of the inner ones")
    func keys() throws {
        let object = try Self.object(#" { "a" : { "x" : 1 } , "b" : [ { "y" : 2 } ] , "" : 3 , "é":4 } "#)
        #expect(Self.raw(object, "a") == #"{ "x" : 1 }"#)
        #expect(Self.raw(object, "b") == #"[ { "y" : 2 } ]"#)
        #expect(Self.raw(object, "") == "3")
        #expect(Self.raw(object, "é") == "4")
        #expect(Self.raw(object, "x") == nil)
        #expect(Self.raw(object, "y") == nil)
    }

    @Test("of a key that stands twice the last value counts")
    func lastOfTwo() throws {
        #expect(Self.raw(try Self.object(#"{"a":1,"a":2}"#), "a") == "2")
    }

    @Test("a dictionary without keys has none", arguments: ["{}", " { } ", "\n{\n}\n"])
    func noKeys(_ text: String) throws {
        #expect(Self.raw(try Self.object(text), "a") == nil)
    }

    @Test(
        "what is not a JSON dictionary is refused",
        arguments: ["", " ", "[]", "1", "{", "}", #"{"a"}"#, "{}{}", #"{"a":1,}"#])
    func refuses(_ text: String) {
        #expect(JSONObject(Array(text.utf8)) == nil)
    }

    @Test("a text cut short at any byte is refused")
    func cut() {
        let text = Array(#" { "a" : [ 1 , { "b" : "c\n" } ] , "d" : -1.5e3 }"#.utf8)
        #expect(JSONObject(text) != nil)
        for count in 0..<text.count { #expect(JSONObject(Array(text[..<count])) == nil) }
    }

    @Test("as many keys as are allowed are taken, and not one more")
    func keyLimit() {
        func text(_ count: Int) -> [UInt8] {
            Array(("{" + (0..<count).map { #""k\#($0)":0"# }.joined(separator: ",") + "}").utf8)
        }
        #expect(JSONObject(text(JSONObject.maximumKeys)) != nil)
        #expect(JSONObject(text(JSONObject.maximumKeys + 1)) == nil)
    }

    @Test(
        "a number is whole and not negative",
        arguments: [
            ("0", 0), ("1", 1), ("18446744073709551615", .max), ("18446744073709551616", nil), ("-1", nil),
            ("1.0", nil),
            ("1e3", nil), (#""1""#, nil), ("true", nil), ("null", nil), ("[1]", nil), ("{}", nil),
        ] as [(String, UInt64?)])
    func numbers(_ value: String, _ expected: UInt64?) throws {
        #expect(try Self.object(#"{"k":\#(value)}"#)[number: "k"] == expected)
        #expect(try Self.object("{}")[number: "k"] == nil)
    }

    @Test(
        "plain text has no escapes",
        arguments: [
            (#""""#, ""), (#""abc""#, "abc"), (#""é""#, "é"), (#""a\n""#, nil), (#""\u0061""#, nil), ("1", nil),
            ("null", nil), ("[]", nil), (#"["a"]"#, nil), (#"{"a":"b"}"#, nil),
        ] as [(String, String?)])
    func plainText(_ value: String, _ expected: String?) throws {
        #expect(try Self.object(#"{"k":\#(value)}"#)[plain: "k"] == expected)
    }

    @Test("random dictionaries come apart into the values that went in", arguments: 1...10 as ClosedRange<UInt64>)
    func randomDictionaries(seed: UInt64) throws {
        var random = RandomJSON(seed: seed)
        for _ in 0..<20 {
            let (first, second) = (random.dictionary(), random.dictionary())
            var tokens = ["{", "\"one\"", ":"]
            tokens += first
            tokens += [",", "\"two\"", ":"]
            tokens += second
            tokens.append("}")
            let object = try #require(JSONObject(random.spaced(tokens)))
            for (key, value) in [("one", first), ("two", second)] {
                let raw = try #require(object[raw: key])
                #expect(try Payload(raw).json == Array(value.joined().utf8), "seed \(seed)")
            }
        }
    }

    @Test(
        "quoted text is a JSON string",
        arguments: [
            ("", #""""#), ("abc", #""abc""#), (#"a"b\c"#, #""a\"b\\c""#), ("\n\r\t", #""\n\r\t""#),
            ("\r\n", #""\r\n""#), ("\0\u{1}\u{8}\u{1f}", #""\u0000\u0001\u0008\u001f""#),
            ("é😀/\u{7f}", "\"é😀/\u{7f}\""),
        ] as [(String, String)])
    func quoted(_ text: String, _ expected: String) throws {
        #expect(JSONString.quoted(text) == expected)
        #expect(throws: Never.self) { try Payload(Array("{\"k\":\(expected)}".utf8)) }
    }
}
