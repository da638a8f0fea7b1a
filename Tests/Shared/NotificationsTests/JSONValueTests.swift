import Foundation
import Notifications
import Testing

/// The reader of JSON values.
struct JSONValueTests {
    @Test(arguments: [
        "{}", #" { "a" : [ ] , "b" : { } } "#, #"{"n":[0,-1,1.5,1.25e-3,-0,9223372036854775807,9223372036854775808]}"#,
        #"{"s":["","\"\\\/\b\f\n\r\t","\u00e4\ud83d\ude00","äöü"]}"#, #"{"w":[true,false,null]}"#,
        #"{"deep":[[[[{"x":[{}]}]]]]}"#,
    ])
    func `The JSON reader accepts what other readers on this machine accept`(text: String) throws {
        let value = try #require(JSONValue(Array(text.utf8)))
        #expect(value == (try JSONDecoder().decode(JSONValue.self, from: Data(text.utf8))))
        // When the value is written and read again, it is the same.
        #expect(JSONValue(Array(value.text.utf8)) == value)
    }

    @Test(arguments: ["", "[]", "1", #"{"a"}"#, #"{"a":1,}"#, #"{"a":1}x"#, #"{"a":"\ud800"}"#, #"{"a":1e999}"#])
    func `The JSON reader refuses what other readers refuse`(text: String) {
        #expect(JSONValue(Array(text.utf8)) == nil)
    }

    @Test func `The JSON reader refuses JSON that is nested too deeply`() {
        func text(_ levels: Int) -> [UInt8] {
            Array(
                (#"{"a":"# + String(repeating: "[", count: levels - 1) + String(repeating: "]", count: levels - 1) + "}")
                    .utf8)
        }
        #expect(JSONValue(text(64)) != nil)
        #expect(JSONValue(text(65)) == nil)
    }

    @Test func `If a key occurs twice, the last value counts`() {
        #expect(JSONValue(Array(#"{"a":1,"a":2}"#.utf8)) == ["a": 2])
    }

    @Test func `A key that occurs twice is refused if another reader reads the text too`() {
        for text in [#"{"a":1,"a":2}"#, #"[{"b":{"a":1,"\u0061":2}}]"#] {
            #expect(JSONValue(any: Array(text.utf8), refusesRepeatedKeys: true) == nil)
        }
        #expect(JSONValue(any: Array(#"[{"a":1},{"a":2}]"#.utf8), refusesRepeatedKeys: true) != nil)
    }

    @Test(arguments: ["[]", " 1 ", "\"a\"", "true", "null", "[[1], {}]", "-2.5e-1"])
    func `The JSON reader reads any outermost value if it may`(text: String) throws {
        #expect(
            JSONValue(any: Array(text.utf8)) == (try JSONDecoder().decode(JSONValue.self, from: Data(text.utf8))))
        #expect(JSONValue(Array(text.utf8)) == nil)
    }

    @Test(arguments: [
        "", " ", "[", "]", "[1,]", "[1 2]", "{]", "1 1", "nul", "[\"]", "{\"a\":}", "+1", "01", "\u{feff}1",
    ])
    func `The JSON reader refuses a text that is no value`(text: String) {
        #expect(JSONValue(any: Array(text.utf8)) == nil)
    }
}
