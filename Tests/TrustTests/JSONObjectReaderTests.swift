import Testing
@testable import Trust

@Suite("The reader of tokens' JSON")
struct JSONObjectReaderTests {
    private func members(_ text: String) -> [String: JSONObjectReader.Value]? {
        JSONObjectReader.members(of: Array(text.utf8))
    }

    @Test("reads strings with every escape")
    func escapes() {
        #expect(members(#"{"a":"\"\\\/\b\f\n\r\t\u00e9\ud83d\ude00"}"#) == ["a": .string("\"\\/\u{8}\u{c}\n\r\té😀")])
    }

    @Test("reads numbers as they are written", arguments: ["0", "-0", "10", "1.5", "1e5", "1E+5", "-1.25e-3"])
    func numbers(text: String) {
        #expect(members(#"{"a":\#(text)}"#) == ["a": .number(text)])
    }

    @Test("passes over other values", arguments: ["true", "false", "null", "{}", "[]", "[1,[2]]", #"{"b":{"c":1}}"#])
    func others(text: String) {
        #expect(members(#"{"a":\#(text)}"#) == ["a": .other])
    }

    @Test("reads an empty object")
    func empty() {
        #expect(members(" { } ") == [:])
    }

    @Test(
        "refuses what is not one JSON object",
        arguments: [
            "", "{", "}", "[]", "1", "\"a\"", "{}{}", "{} x", "{,}", #"{"a"}"#, #"{"a":}"#, #"{"a":1,}"#, #"{"a" 1}"#,
            #"{a:1}"#, #"{'a':1}"#, #"{"a":1 "b":2}"#, #"{"a":01}"#, #"{"a":1.}"#, #"{"a":.5}"#, #"{"a":-}"#,
            #"{"a":1e}"#,
            #"{"a":tru}"#, #"{"a":nul}"#, #"{"a":NaN}"#, #"{"a":[1,]}"#, #"{"a":[1}"#, #"{"a":{"b"}}"#, #"{"a":{]}"#,
            #"{"a":""#, #"{"a":"\"#, #"{"a":"\x"}"#, #"{"a":"\u12"}"#, #"{"a":"\u12g4"}"#, #"{"a":"\ud800"}"#,
            #"{"a":"\ud800\u0041"}"#, #"{"a":"\udc00"}"#, "{\"a\":\"\n\"}", "\u{feff}{}",
        ])
    func malformed(text: String) {
        #expect(members(text) == nil)
    }

    @Test(
        "refuses a name that stands there twice, however it is written",
        arguments: [
            #"{"a":1,"a":2}"#, #"{"a":1,"\u0061":2}"#, #"{"é":1,"e\u0301":2}"#,
        ])
    func repeated(text: String) {
        #expect(members(text) == nil)
    }

    @Test("refuses bytes that are not UTF-8")
    func notUTF8() {
        #expect(JSONObjectReader.members(of: Array(#"{"a":""#.utf8) + [0xff] + Array(#""}"#.utf8)) == nil)
    }

    @Test("reads to its depth and no deeper")
    func depth() {
        func nested(_ depth: Int) -> String {
            #"{"a":"# + String(repeating: "[", count: depth) + String(repeating: "]", count: depth) + "}"
        }
        #expect(members(nested(JSONObjectReader.maximumDepth - 1)) != nil)
        #expect(members(nested(JSONObjectReader.maximumDepth)) == nil)
        #expect(members(#"{"a":"# + String(repeating: "[", count: 100_000)) == nil)
    }

    @Test("reads as many members as its limit and no more")
    func count() {
        func object(_ count: Int) -> String {
            "{" + (0..<count).map { #""\#($0)":1"# }.joined(separator: ",") + "}"
        }
        #expect(members(object(JSONObjectReader.maximumMembers))?.count == JSONObjectReader.maximumMembers)
        #expect(members(object(JSONObjectReader.maximumMembers + 1)) == nil)
    }
}

@Suite("Base 64")
struct Base64URLTests {
    @Test("decodes what it encodes, whatever the length", arguments: 0..<20)
    func roundTrip(count: Int) {
        let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 73 &+ 250) }
        #expect(Base64URL.decoded(Base64URL.encoded(bytes)[...]) == bytes)
    }

    @Test(
        "agrees with RFC 4648's examples",
        arguments: [
            ("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg=="), ("fooba", "Zm9vYmE="),
        ])
    func examples(text: String, encoded: String) {
        #expect(Base64URL.decoded(Array(encoded.utf8)[...]) == Array(text.utf8))
        #expect(
            String(decoding: Base64URL.encoded(text.utf8), as: UTF8.self)
                + String(repeating: "=", count: (4 - Base64URL.encoded(text.utf8).count % 4) % 4) == encoded)
    }

    @Test(
        "refuses anything else",
        arguments: [
            "Z", "Zg=", "Zg===", "Zm9v=", "Zm9v====", "=", "==", "Z g=", "Zm9v\n", "Zh==", "Zm9=", "Zm8.", "Zé", "Z=g=",
        ])
    func malformed(text: String) {
        #expect(Base64URL.decoded(Array(text.utf8)[...]) == nil)
    }
}
