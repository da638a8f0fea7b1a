import Foundation
import Notifications
import Testing

@testable import HTTPAPI

/// How bodies are checked, and which message a fault gets.
struct SchemaTests {
    private static let schema = Schema.object([
        .required("name", .string(.line(maximumBytes: 5))),
        .optional("id", .string(.accountID)),
        .optional("count", .integer(1...3)),
        .optional("isOn", .boolean),
        .optional("list", .array(.object([.required("a/b", .boolean)]), count: 1...2)),
    ])

    private func fault(_ text: String) throws -> Problem? {
        let value = try #require(JSONValue(any: Array(text.utf8)))
        do throws(Problem) {
            try Self.schema.check(value)
            return nil
        } catch {
            return error
        }
    }

    @Test(arguments: [
        #"{"name":"abc"}"#, #"{"name":"äö"}"#,
        #"{"name":"a","id":"ABCDEFGH12","count":3,"isOn":false,"list":[{"a/b":true}]}"#,
    ])
    func `A body that follows the schema is accepted`(_ text: String) throws {
        #expect(try fault(text) == nil)
    }

    @Test(arguments: [
        (#"[]"#, ""), (#"{}"#, ""), (#"{"name":1}"#, "/name"), (#"{"name":null}"#, "/name"), (#"{"name":""}"#, "/name"),
        (#"{"name":"abcdef"}"#, "/name"), (#"{"name":"a\u0007"}"#, "/name"), (#"{"name":"äöü"}"#, "/name"),
        (#"{"name":"a","id":"abcde.gh12"}"#, "/id"), (#"{"name":"a","count":4}"#, "/count"),
        (#"{"name":"a","count":1.5}"#, "/count"), (#"{"name":"a","isOn":1}"#, "/isOn"),
        (#"{"name":"a","list":[]}"#, "/list"), (#"{"name":"a","list":[{"a/b":true},{}]}"#, "/list/1"),
        (#"{"name":"a","list":[{"a/b":1}]}"#, "/list/0/a~1b"), (#"{"name":"a","other":1}"#, "/other"),
        (#"{"name":"a","o~/x":1}"#, "/o~0~1x"),
    ])
    func `An error names the place of the fault`(_ text: String, _ pointer: String) throws {
        let problem = try #require(try fault(text))
        #expect(problem.status == 400)
        #expect(problem.pointer == pointer)
        #expect(problem.detail.hasSuffix("."))
    }

    @Test(
        arguments: [
            (TextFormat.accountID, ["ABCDE12345", "a", "my-team_1"], ["", "a.b", "a b", "ÄBCDE12345"]),
            (.bundleID, ["a", "com.example.app", "a-1"], ["", ".a", "a.", "a b", "a_b"]),
            (.serial, ["00112233445566778899aabbccddeeff"], ["0011", "zz112233445566778899aabbccddeeff"]),
            (.uuid, ["123e4567-e89b-12d3-a456-4266554400a0"], ["123e4567e89b12d3a4564266554400a0", ""]),
        ] as [(TextFormat, [String], [String])])
    func `A format's pattern and its function allow the same texts`(
        _ format: TextFormat, _ good: [String], _ bad: [String]
    ) throws {
        let pattern = try Regex(#require(format.pattern))
        for text in good { #expect(format.allows(text) && text.wholeMatch(of: pattern) != nil, "\(text)") }
        for text in bad { #expect(!format.allows(text) && text.wholeMatch(of: pattern) == nil, "\(text)") }
    }
}
