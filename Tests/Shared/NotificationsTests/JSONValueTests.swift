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

    @Test(arguments: ["", "[]", "1", #"{"a"}"#, #"{"a":1,}"#, #"{"a":1}x"#])
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

    @Test func `A document with a fault says which and where`() {
        func fault(_ text: String) -> JSONFault? {
            do throws(JSONFault) {
                _ = try JSONValue(document: Array(text.utf8), maximumDepth: 3)
                return nil
            } catch {
                return error
            }
        }
        #expect(fault(#"{"a":1,"a":2}"#) == JSONFault(cause: .repeatedKey("a"), pointer: "/a"))
        #expect(fault(#"[{"b/":{"a":1,"\u0061":2}}]"#) == JSONFault(cause: .repeatedKey("a"), pointer: "/0/b~1/a"))
        #expect(fault(#"[{"a":1},{"a":2}]"#) == nil)
        #expect(fault(#"{"a":[1,[[]]]}"#) == JSONFault(cause: .tooDeep(3), pointer: "/a/1/0"))
        #expect(fault(#"{"a":1,}"#) == JSONFault(cause: .malformed(offset: 7, line: nil), pointer: ""))
        #expect(fault("{\n\"a\": tru}") == JSONFault(cause: .malformed(offset: 7, line: 2), pointer: ""))
        #expect(fault(#"{"a":"#) == JSONFault(cause: .malformed(offset: 5, line: nil), pointer: ""))
        let sentences = [
            JSONFault(cause: .malformed(offset: 7, line: 2), pointer: ""), JSONFault(cause: .tooDeep(3), pointer: ""),
            JSONFault(cause: .repeatedKey("a\n"), pointer: "/a"),
        ].map { $0.detail(of: "The body") }
        #expect(
            sentences == [
                "The body is not JSON (RFC 8259): byte 7 in line 2 does not belong there.",
                "The body is nested in more than 3 levels.",
                #"The body has a key twice in one object: "a\n"."#,
            ])
    }

    @Test func `A byte order mark before a document is ignored, and is no part of a payload`() throws {
        let text = [0xef, 0xbb, 0xbf] + Array(#"{"a":1}"#.utf8)
        #expect(try JSONValue(document: text, maximumDepth: 1) == ["a": 1])
        #expect(try JSONValue(answer: text) == ["a": 1])
        #expect(JSONValue(text) == nil)
    }

    @Test(arguments: [
        "0", "-0", "18446744073709551615", "-9223372036854775809", "0.1234567890123456789", "123.456e-789", "1e400",
        "1E+2", "1.50", "1" + String(repeating: "0", count: 2_999),
    ])
    func `A number keeps its digits`(_ digits: String) throws {
        let text = #"{"a":[\#(digits)]}"#
        let value = try #require(JSONValue(Array(text.utf8)))
        #expect(value.text == text)
        #expect(JSONValue(Array(value.text.utf8)) == value)
        #expect(try JSONValue(encoding: ["a": value]).text == #"{"a":\#(text)}"#)
        #expect(try value.decoded(as: JSONValue.self).text == text)
    }

    @Test(arguments: [
        ("1", "1.0", true), ("1", "10e-1", true), ("100", "1e2", true), ("0", "-0", true), ("0e99", "0", true),
        ("-1", "1", false), ("0.1234567890123456789", "0.1234567890123456788", false), ("1e400", "10e399", true),
        ("1e400", "1e401", false), ("18446744073709551615", "18446744073709551616", false),
        ("1e99999999999999999999", "1e99999999999999999999", true),
        ("1e99999999999999999999", "1e99999999999999999998", false),
    ])
    func `Numbers are equal if their values are`(_ one: String, _ other: String, _ areEqual: Bool) throws {
        let (left, right) = (
            try #require(JSONValue(any: Array(one.utf8))), try #require(JSONValue(any: Array(other.utf8)))
        )
        #expect((left == right) == areEqual)
        #expect((left.canonicalText == right.canonicalText) == areEqual)
        if areEqual { #expect(left.hashValue == right.hashValue) }
    }

    @Test(arguments: [
        ("1.0", 1), ("1e2", 100), ("12e-1", nil), ("9223372036854775808", nil), ("-0.0", 0), ("1e99", nil),
    ])
    func `An integer is one however it is written`(_ digits: String, _ value: Int64?) {
        #expect(JSONNumber(digits)?.int64 == value)
    }

    @Test(arguments: ["", "01", "1.", "+1", " 1", "NaN", "1,2"])
    func `Only what JSON calls a number is one`(_ digits: String) { #expect(JSONNumber(digits) == nil) }

    @Test func `Half a character is U+FFFD`() {
        #expect(JSONValue(Array(#"{"a":"hi \ud83d"}"#.utf8)) == ["a": "hi \u{fffd}"])
    }

    @Test func `Texts and keys are compared by their code units`() throws {
        let (composed, decomposed) = ("\u{e9}", "e\u{301}")
        let value = try JSONValue(document: Array("{\"\(composed)\":1,\"\(decomposed)\":2}".utf8), maximumDepth: 1)
        #expect(value.members.count == 2)
        #expect(value.members[composed] == 1 && value.members[decomposed] == 2)
        #expect(value.text == "{\"\(decomposed)\":2,\"\(composed)\":1}")
        #expect(JSONValue.string(composed) != .string(decomposed))
        let (one, other): (JSONValue, JSONValue) = ([composed: 1], [decomposed: 1])
        #expect(one != other && !one.matches(other) && one.matches(value))
        #expect(ExactText(composed) != ExactText(decomposed) && Set([ExactText(composed)]).count == 1)
    }

    @Test func `Members are changed, removed and joined by their keys`() {
        var members: JSONMembers = ["b": 1, "a": 2, "b": 3]
        #expect(members.keys == ["a", "b"] && members["b"] == 3)
        members["c"] = 4
        members["a"] = nil
        #expect(members.removeValue(forKey: "b") == 3 && members.removeValue(forKey: "x") == nil)
        #expect(members == ["c": 4] && members.merging(["c": 5, "d": 6]) == ["c": 5, "d": 6])
    }

    // MARK: Types that say how they are written

    private struct Sample: Codable, Hashable {
        enum Kind: String, Codable { case one, two }
        enum Choice: Codable, Hashable {
            case text(String)
            case pair(left: Int, right: Bool?)
        }

        var name: String
        var number: UInt64?
        var part = 0.5
        var kind = Kind.two
        var choices: [Choice] = []
        var children: [String: [Sample]] = [:]
        var any: JSONValue = .null
        var flag = true
        var date = Date(timeIntervalSince1970: 1_800_000_000.25)
    }

    @Test func `A type is written and read as Foundation writes and reads it`() throws {
        var sample = Sample(name: "é\u{1}/", number: .max)
        sample.choices = [.text("a"), .pair(left: -1, right: nil), .pair(left: 2, right: true)]
        sample.children = ["x": [Sample(name: "")], "": []]
        sample.any = ["a": [1, 2.5, "b"], "n": .null]
        let value = try JSONValue(encoding: sample)
        #expect(value == JSONValue(Array(try JSONEncoder().encode(sample))))
        #expect(try value.decoded(as: Sample.self) == sample)
        #expect(try JSONDecoder().decode(Sample.self, from: Data(value.text.utf8)) == sample)
    }

    @Test(arguments: [#"{"name":1}"#, #"{}"#, #"{"name":"a","number":-1}"#, "[]", #"{"name":"a","kind":"three"}"#])
    func `A type that the JSON is not is refused`(_ text: String) {
        #expect(throws: DecodingError.self) { try JSONValue.decode(text.utf8, as: Sample.self) }
    }

    @Test func `A number that JSON cannot write is null, and said to be one`() {
        for number in [Double.nan, .infinity, -.infinity] {
            let value: JSONValue = ["a": [.number(number)]]
            #expect(value.text == #"{"a":[null]}"# && !value.isWritable && JSONNumber(number) == nil)
        }
        #expect(JSONValue.number(2.5).isWritable && JSONValue.number(2.0) == 2)
    }

    @Test func `Another library's encoder never writes another number`() throws {
        for digits in ["18446744073709551615", "0.5"] {
            let value = try #require(JSONValue(any: Array(digits.utf8)))
            #expect(String(decoding: try JSONEncoder().encode(value), as: UTF8.self) == digits)
        }
        let precise = try #require(JSONValue(any: Array("0.1234567890123456789".utf8)))
        #expect(throws: EncodingError.self) { try JSONEncoder().encode(precise) }
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
