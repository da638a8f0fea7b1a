import Notifications
import Testing

@Suite("JSON in the lines of the protocols")
struct JSONObjectTests {
    private static func object(_ text: String) throws -> JSONObject {
        try #require(JSONObject(Array(text.utf8)))
    }

    private static func raw(_ object: JSONObject, _ key: String) -> String? {
        object[raw: key].map { String(decoding: $0, as: UTF8.self) }
    }

    @Test(arguments: [
        "1", "-1.5e+3", "true", "false", "null", #""""#, #""a b""#, #""\"}],{[""#, "{}", "[]",
        #"{"a":{"b":[1,2]}}"#,
        #"[{"a":"]"},{"b":"}"}]"#, #"{ "a" : [ 1 , 2 ] }"#, #""é😀""#, #""\\""#,
    ])
    func `A value is found with the text that it has in the JSON`(_ value: String) throws {
        for text in [
            #"{"k":\#(value)}"#, #"{"k":\#(value),"z":0}"#, #"{"a":[{}],"k":\#(value)}"#,
            " {\n\"a\" : \"\\\\\" , \"k\"\t:  \(value)  , \"z\" : 0 } \n",
        ] {
            #expect(Self.raw(try Self.object(text), "k") == value)
        }
    }

    @Test
    func `Every key of the outermost level is found, and no inner key`() throws {
        let object = try Self.object(#" { "a" : { "x" : 1 } , "b" : [ { "y" : 2 } ] , "" : 3 , "é":4 } "#)
        #expect(Self.raw(object, "a") == #"{ "x" : 1 }"#)
        #expect(Self.raw(object, "b") == #"[ { "y" : 2 } ]"#)
        #expect(Self.raw(object, "") == "3")
        #expect(Self.raw(object, "é") == "4")
        #expect(Self.raw(object, "x") == nil)
        #expect(Self.raw(object, "y") == nil)
    }

    @Test(arguments: [#"{"a":1,"a":2}"#, #"{"a":1,"\u0061":2}"#, #"{"é":1,"\u00e9":2}"#])
    func `A key that occurs twice is refused, however it is written`(_ text: String) {
        #expect(JSONObject(Array(text.utf8)) == nil)
    }

    @Test func `Keys that differ only in Unicode's normalization are two keys`() throws {
        let object = try Self.object(#"{"\u00e9":1,"e\u0301":2}"#)
        #expect(Self.raw(object, "\u{e9}") == "1" && Self.raw(object, "e\u{301}") == "2")
        #expect(object.keys.map { Array($0.utf8) } == [Array("e\u{301}".utf8), Array("\u{e9}".utf8)])
    }

    @Test func `In a payload the last value of a key counts, and there may be any number of keys`() throws {
        let many = (0...JSONObject.maximumKeys).map { #""k\#($0)":0"# }.joined(separator: ",")
        let text = Array(#"{"aps":{"alert":1,"alert":2},\#(many),"aps":{"badge":1,"badge":2}}"#.utf8)
        #expect(JSONObject(text) == nil)
        let object = try #require(JSONObject(text, .ofPayload))
        #expect(object[object: "aps"]?[number: "badge"] == 2)
        #expect(object[object: "aps"]?[raw: "alert"] == nil)
    }

    @Test
    func `A key is found even if it is written with escapes`() throws {
        #expect(Self.raw(try Self.object(#"{"\u0061ps":1}"#), "aps") == "1")
    }

    @Test(arguments: ["{}", " { } ", "\n{\n}\n"])
    func `A dictionary without keys has none`(_ text: String) throws {
        #expect(Self.raw(try Self.object(text), "a") == nil)
    }

    @Test(arguments: ["", " ", "[]", "1", "{", "}", #"{"a"}"#, "{}{}", #"{"a":1,}"#])
    func `What is not a JSON dictionary is refused`(_ text: String) {
        #expect(JSONObject(Array(text.utf8)) == nil)
    }

    @Test
    func `A text that is cut off at any byte is refused`() {
        let text = Array(#" { "a" : [ 1 , { "b" : "c\n" } ] , "d" : -1.5e3 }"#.utf8)
        #expect(JSONObject(text) != nil)
        for count in 0..<text.count { #expect(JSONObject(Array(text[..<count])) == nil) }
    }

    @Test
    func `The largest allowed number of keys is accepted, and one more is not`() {
        func text(_ count: Int) -> [UInt8] {
            Array(("{" + (0..<count).map { #""k\#($0)":0"# }.joined(separator: ",") + "}").utf8)
        }
        #expect(JSONObject(text(JSONObject.maximumKeys)) != nil)
        #expect(JSONObject(text(JSONObject.maximumKeys + 1)) == nil)
    }

    @Test(
        arguments: [
            ("0", 0), ("1", 1), ("18446744073709551615", .max), ("18446744073709551616", nil), ("-1", nil),
            ("1.0", nil),
            ("1e3", nil), (#""1""#, nil), ("true", nil), ("null", nil), ("[1]", nil), ("{}", nil),
        ] as [(String, UInt64?)])
    func `An integer is whole and not negative`(_ value: String, _ expected: UInt64?) throws {
        #expect(try Self.object(#"{"k":\#(value)}"#)[number: "k"] == expected)
        #expect(try Self.object("{}")[number: "k"] == nil)
    }

    @Test(
        arguments: [
            (#""""#, ""), (#""abc""#, "abc"), (#""é""#, "é"), (#""aé\n😀b""#, "aé\n😀b"), (#""\u0061""#, "a"), ("1", nil),
            (#""\"\\\/\b\f\n\r\t\u00e9\ud83d\uDE00""#, "\"\\/\u{8}\u{c}\n\r\té😀"),
            (#""\ud800""#, "\u{fffd}"), (#""\ud800x""#, "\u{fffd}x"), (#""\ud800\u0041""#, "\u{fffd}A"),
            (#""\udc00""#, "\u{fffd}"), (#""\ud800\ud83d\ude00""#, "\u{fffd}😀"),
            ("null", nil), ("[]", nil), (#"["a"]"#, nil), (#"{"a":"b"}"#, nil),
        ] as [(String, String?)])
    func `Escapes in a text are resolved, and half a character becomes U+FFFD`(
        _ value: String, _ expected: String?
    ) throws {
        #expect(try Self.object(#"{"k":\#(value)}"#)[text: "k"] == expected)
    }

    @Test(
        arguments: [
            ("0", 0), ("-0", 0), ("10", 10), ("1.5", 1.5), ("1e5", 1e5), ("1E+5", 1e5), ("-1.25e-3", -1.25e-3),
            (#""1""#, nil), ("true", nil), ("[1]", nil), ("1e400", nil),
        ] as [(String, Double?)])
    func `Any number can be read as a double`(_ value: String, _ expected: Double?) throws {
        #expect(try Self.object(#"{"k":\#(value)}"#)[double: "k"] == expected)
    }

    @Test(arguments: ["", "-", "01", "1.", "1 ", "+1", "1e", "NaN", "0x1"])
    func `A text counts as a number only as a whole`(_ text: String) {
        #expect(JSONObject.number(Array(text.utf8)) == nil)
    }

    @Test
    func `A nested dictionary is read in the same way`() throws {
        let object = try Self.object(#"{"a":{"b":{"c":"d"}},"e":[]}"#)
        #expect(object[object: "a"]?[object: "b"]?[text: "c"] == "d")
        #expect(object[object: "e"] == nil)
        #expect(object[object: "f"] == nil)
    }

    @Test
    func `Bytes that are not UTF-8 are refused`() {
        #expect(JSONObject(Array(#"{"a":""#.utf8) + [0xff] + Array(#""}"#.utf8)) == nil)
    }

    @Test(
        arguments: 1...10 as ClosedRange<UInt64>
    )
    func `Random dictionaries are split into the values that they were made of`(seed: UInt64) throws {
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
        arguments: [
            ("", #""""#), ("abc", #""abc""#), (#"a"b\c"#, #""a\"b\\c""#), ("\n\r\t", #""\n\r\t""#),
            ("\r\n", #""\r\n""#), ("\0\u{1}\u{8}\u{1f}", #""\u0000\u0001\u0008\u001f""#),
            ("é😀/\u{7f}", "\"é😀/\u{7f}\""),
        ] as [(String, String)])
    func `Quoted text is a JSON string`(_ text: String, _ expected: String) throws {
        #expect(JSONString.quoted(text) == expected)
        #expect(throws: Never.self) { try Payload(Array("{\"k\":\(expected)}".utf8)) }
    }
}
