import Notifications
import Testing

/// Which bodies are valid payloads.
@Suite("Payload: reading a body")
struct PayloadTests {
    /// The payload's text, or the error.
    private static func read(_ body: [UInt8]) -> Result<String, PayloadError> {
        do throws(PayloadError) {
            return .success(String(decoding: try Payload(body).json, as: UTF8.self))
        } catch {
            return .failure(error)
        }
    }

    private static func read(_ body: String) -> Result<String, PayloadError> { read(Array(body.utf8)) }

    /// A dictionary with `value` as its only value.
    private static func dictionary(_ value: [UInt8]) -> [UInt8] { Array(#"{"k":"#.utf8) + value + Array("}".utf8) }

    // MARK: Grammar

    @Test(
        arguments: [
            "0", "-0", "7", "10", "-10", "1234567890123456789012345678901234567890", "0.5", "-0.50", "10.01", "0e0",
            "1e10", "1E10", "1e+10", "1E-10", "1.5e300", "1e999",
            "true", "false", "null", "{}", "[]", "[[]]", "[{}]", "[1,2]", #"{"a":1,"b":2}"#, #"{"":""}"#,
            #""""#, #"" ""#, #""\"""#, #""\\""#, #""\/""#, #""\b\f\n\r\t""#, #""\u0000""#, #""\u00e9""#, #""\uABCD""#,
            #""\uabcd""#, #""\ud83d\ude00""#, #""\ud83d""#, #""\ude00""#, "\"\u{7f}\"", "\"é\"", "\"\u{7ff}\"",
            "\"\u{800}\"", "\"\u{d7ff}\"", "\"\u{e000}\"", "\"\u{ffff}\"", "\"\u{10000}\"", "\"\u{10ffff}\"",
            "\"\u{feff}\"", "\"\u{2028}\"",
        ] as [String])
    func `A value that follows the grammar is accepted unchanged`(_ value: String) {
        let body = #"{"k":\#(value)}"#
        #expect(Self.read(body) == .success(body))
    }

    @Test(
        arguments: [
            "", "-", "+1", "01", "-01", "00", "1.", ".5", "-.5", "1.e5", "1e", "1e+", "1e-", "1ee5", "1.5.5", "0x10",
            "1_000", "NaN", "Infinity", "-Infinity", "1 2", "--1", "1-", "1+1",
            "True", "tru", "truee", "falsey", "nul", "nulll", "undefined", "TRUE",
            "[", "]", "[1", "[1,", "[1,]", "[,1]", "[,]", "[1 2]", "[1:2]", "[}", "{]", "{,}", "{1:2}", "{null:1}",
            #"{"a"}"#, #"{"a":}"#, #"{"a":1,}"#, #"{"a":1 "b":2}"#, #"{"a",1}"#, #"{"a":1,,"b":2}"#, #"{"a"::1}"#,
            #"{"a":1:2}"#, #"{a:1}"#, "{'a':1}", "'a'", "/* */1", "1//", "[1]]", #"["a"#, #"{"a":{"#,
            #"""#, #""\""#, #""\x41""#, #""\u""#, #""\u12""#, #""\u123""#, #""\u123g""#, #""\U0041""#, #""\'""#,
            #""\a""#, #""\0""#, #""\ ""#, #""\u{41}""#, #""\u+123""#, #""a" "b""#, #""a"b"#,
        ] as [String])
    func `A value that does not follow the grammar is refused`(_ value: String) {
        #expect(throws: PayloadError.self) { try Payload(Self.dictionary(Array(value.utf8))) }
    }

    @Test(arguments: 0..<0x20 as Range<UInt8>)
    func `A control character inside a string is refused`(_ byte: UInt8) {
        let body = Self.dictionary([UInt8(ascii: "\""), byte, UInt8(ascii: "\"")])
        #expect(Self.read(body) == .failure(.malformed(offset: 6)))
    }

    @Test(arguments: [0x00, 0x1f, 0x80, 0xff])
    func `A byte that a string must not contain is found in every place`(_ byte: UInt8) {
        Self.forEachPlace(of: byte) { body, offset in
            #expect(Self.read(body) == .failure(.malformed(offset: offset)))
        }
    }

    @Test(arguments: [UInt8(ascii: "\""), UInt8(ascii: "\\")])
    func `The end of a string, or an escape, is found in every place`(_ byte: UInt8) {
        Self.forEachPlace(of: byte) { body, _ in
            #expect(throws: PayloadError.self) { try Payload(body) }
        }
    }

    @Test(arguments: [0x20, 0x21, 0x23, 0x5b, 0x5d, 0x7f])
    func `A byte that a string may contain is accepted in every place`(_ byte: UInt8) {
        Self.forEachPlace(of: byte) { body, _ in
            #expect(Self.read(body) == .success(String(decoding: body, as: UTF8.self)))
        }
    }

    /// Bodies with a string of every length up to 40, and the byte at every place in it.
    private static func forEachPlace(of byte: UInt8, _ check: ([UInt8], _ offset: Int) -> Void) {
        let (before, after) = (Array(#"{"key":""#.utf8), Array(#""}"#.utf8))
        for length in 1...40 {
            for position in 0..<length {
                var text = [UInt8](repeating: UInt8(ascii: "a"), count: length)
                text[position] = byte
                check(before + text + after, before.count + position)
            }
        }
    }

    @Test(arguments: 0...255 as ClosedRange<UInt8>)
    func `Only four bytes count as white space between tokens`(_ byte: UInt8) {
        let body = Array("{".utf8) + [byte] + Array("}".utf8)
        let expected: Result<String, PayloadError> =
            [0x20, 0x09, 0x0a, 0x0d].contains(byte) ? .success("{}") : .failure(.malformed(offset: 1))
        // In `{}}` the fault is one byte later.
        if byte == UInt8(ascii: "}") {
            #expect(Self.read(body) == .failure(.malformed(offset: 2)))
        } else if byte == UInt8(ascii: "\"") {
            #expect(Self.read(body) == .failure(.malformed(offset: 3)))
        } else {
            #expect(Self.read(body) == expected)
        }
    }

    // MARK: UTF-8

    @Test(
        arguments: [
            [0x80], [0xbf],  // A byte that continues nothing.
            [0xc3], [0xe2, 0x82], [0xf0, 0x9f, 0x98],  // Cut short.
            [0xc3, 0x41], [0xe2, 0x82, 0x41], [0xe2, 0x41, 0x82], [0xf0, 0x9f, 0x98, 0x41], [0xf0, 0x9f, 0x41, 0x80],
            [0xc0, 0x80], [0xc1, 0xbf], [0xe0, 0x80, 0x80], [0xe0, 0x9f, 0xbf], [0xf0, 0x8f, 0xbf, 0xbf],  // Overlong.
            [0xed, 0xa0, 0x80], [0xed, 0xbf, 0xbf],  // Surrogates.
            [0xf4, 0x90, 0x80, 0x80], [0xf5, 0x80, 0x80, 0x80],  // Above what there is.
            [0xf8, 0x88, 0x80, 0x80, 0x80], [0xfe], [0xff],
            [0xc3, 0xc3], [0xe2, 0x82, 0xc0],  // A beginning where a continuation belongs.
        ] as [[UInt8]])
    func `Invalid UTF-8 is refused`(_ bytes: [UInt8]) {
        let body = Self.dictionary([UInt8(ascii: "\"")] + bytes + [UInt8(ascii: "\"")])
        #expect(throws: PayloadError.self) { try Payload(body) }
    }

    @Test(arguments: ["é", "€", "😀"])
    func `A multibyte character that the end of the body cuts off is refused`(_ character: String) {
        let whole = Array(#"{"k":""#.utf8) + Array(character.utf8)
        for count in (whole.count - character.utf8.count + 1)..<whole.count {
            #expect(throws: PayloadError.self) { try Payload(Array(whole[..<count])) }
        }
    }

    @Test
    func `Each first and last character of Unicode's planes is accepted or refused as Unicode says`() {
        // Each first byte with second bytes around the edges of what may follow.
        let seconds: [UInt8] = [0x7f, 0x80, 0x8f, 0x90, 0x9f, 0xa0, 0xbf, 0xc0]
        let quote: [UInt8] = [UInt8(ascii: "\"")]
        let tails: [[UInt8]] = [[], [0x80], [0xbf, 0xbf], [0x80, 0x80, 0x80]]
        for first in 0x80...0xff as ClosedRange<UInt8> {
            for second in seconds {
                for tail in tails {
                    let bytes = [first, second] + tail
                    let isValid = String(validating: bytes, as: UTF8.self) != nil
                    let isTaken = (try? Payload(Self.dictionary(quote + bytes + quote))) != nil
                    #expect(isTaken == isValid, "\(bytes)")
                }
            }
        }
    }

    @Test
    func `A byte order mark is refused`() {
        #expect(Self.read([0xef, 0xbb, 0xbf] + Array("{}".utf8)) == .failure(.malformed(offset: 0)))
    }

    // MARK: What it must be

    @Test
    func `An empty body is reported as empty`() {
        #expect(Self.read("") == .failure(.empty))
    }

    @Test
    func `White space alone is not a dictionary`() {
        #expect(Self.read(" \n") == .failure(.malformed(offset: 2)))
    }

    @Test(arguments: ["[]", "[{}]", #""aps""#, "1", "-1.5e3", "true", "false", "null", "  [1]"])
    func `JSON that is not a dictionary is reported as that`(_ body: String) {
        #expect(Self.read(body) == .failure(.notADictionary))
    }

    @Test(arguments: ["{", "}", "]", ",", ":", "1", "{}", "null", "\"\"", "\0"])
    func `Anything after the dictionary is refused`(_ tail: String) {
        #expect(Self.read("{} " + tail) == .failure(.malformed(offset: 3)))
    }

    @Test
    func `A body that is cut off at any byte is refused`() throws {
        let body = Array(#"{"aps":{"alert":"é😀\u00e9\n","badge":-1.5e+3,"x":[true,false,null,{}]},"k":[]}"#.utf8)
        _ = try Payload(body)
        for count in 0..<body.count {
            #expect(throws: PayloadError.self, "cut at \(count)") { try Payload(Array(body[..<count])) }
        }
    }

    @Test
    func `An error names the offset of the wrong byte`() {
        #expect(Self.read(#"{"a":1,}"#) == .failure(.malformed(offset: 7)))
        #expect(Self.read(#"{"a":tru}"#) == .failure(.malformed(offset: 5)))
        #expect(Self.read(#"{"a":"b\x"}"#) == .failure(.malformed(offset: 7)))
        #expect(Self.read(#"{"a":1"#) == .failure(.malformed(offset: 6)))
    }

    // MARK: Depth

    private static func nested(_ depth: Int, isArray: Bool) -> String {
        isArray
            ? #"{"k":"# + String(repeating: "[", count: depth - 1) + String(repeating: "]", count: depth - 1) + "}"
            : String(repeating: #"{"k":"#, count: depth - 1) + "{}" + String(repeating: "}", count: depth - 1)
    }

    @Test(arguments: [true, false])
    func `A payload with as many levels as allowed is accepted`(isArray: Bool) {
        let body = Self.nested(Payload.maximumDepth, isArray: isArray)
        #expect(Self.read(body) == .success(body))
    }

    @Test(arguments: [true, false])
    func `A payload with one level more than allowed is refused`(isArray: Bool) {
        #expect(Self.read(Self.nested(Payload.maximumDepth + 1, isArray: isArray)) == .failure(.tooDeep))
    }

    @Test
    func `Brackets have to close in the order in which they opened, down to the deepest level`() {
        let pairs = Payload.maximumDepth / 2
        let begin = String(repeating: #"{"k":["#, count: pairs)
        let body = begin + String(repeating: "]}", count: pairs)
        #expect(Self.read(body) == .success(body))
        let crossed = begin + "}]" + String(repeating: "]}", count: pairs - 1)
        #expect(Self.read(crossed) == .failure(.malformed(offset: begin.utf8.count)))
    }

    // MARK: One line

    @Test(
        arguments: [
            (" { } ", "{}"),
            ("\t{\r\n\"a\" :\n[ 1 , 2 ]\r}\n", #"{"a":[1,2]}"#),
            (#"{ "a b" : " c  d " }"#, #"{"a b":" c  d "}"#),
            (#"{ "a\n" : "\" \\" }"#, #"{"a\n":"\" \\"}"#),
            (#"{"n" : -1.50E+02 }"#, #"{"n":-1.50E+02}"#),
            (#"{"e" : "\u00E9 é" }"#, #"{"e":"\u00E9 é"}"#),
            (#"{ "a" : 1, "a" : 2 }"#, #"{"a":1,"a":2}"#),
            ("{ \"t\" : true , \"f\" : false , \"z\" : null }", #"{"t":true,"f":false,"z":null}"#),
        ] as [(String, String)])
    func `Only white space between tokens is removed`(_ body: String, _ expected: String) {
        #expect(Self.read(body) == .success(expected))
    }

    @Test
    func `Reading a result again does not change it`() throws {
        let once = try Payload(Array(#" { "aps" : { "alert" : [ 1 ] } } "#.utf8))
        #expect(try Payload(once.json) == once)
    }
}
