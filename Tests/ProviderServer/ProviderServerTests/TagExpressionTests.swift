import Testing

@testable import CampaignStore

struct TagExpressionTests {
    @Test(arguments: [
        ("news", TagExpression.tag("news")),
        ("!muted", .not(.tag("muted"))),
        ("a&&b", .and(.tag("a"), .tag("b"))),
        ("a || b && c", .or(.tag("a"), .and(.tag("b"), .tag("c")))),
        ("!a && b", .and(.not(.tag("a")), .tag("b"))),
        ("(a || b) && c", .and(.or(.tag("a"), .tag("b")), .tag("c"))),
        ("(news && sv) && !muted", .and(.and(.tag("news"), .tag("sv")), .not(.tag("muted")))),
        (" team:red@x#1.2-3_4 ", .tag("team:red@x#1.2-3_4")),
    ])
    func `An expression is read by precedence`(_ text: String, _ expected: TagExpression) throws {
        #expect(try TagExpression(text) == expected)
    }

    @Test(arguments: [
        ("", 0), ("  ", 2), ("a &&", 4), ("a & b", 2), ("a | b", 2), ("a b", 2), ("(a", 2), ("a)", 1), ("()", 1),
        ("&& a", 0), ("a ' OR 1=1", 2), ("\u{e5}", 0), ("a\u{0}", 1),
    ])
    func `A fault has its place`(_ text: String, _ offset: Int) {
        #expect(throws: TagExpression.Fault.self) { try TagExpression(text) }
        do throws(TagExpression.Fault) { _ = try TagExpression(text) } catch { #expect(error.offset == offset) }
    }

    @Test func `Length, depth, tags and a tag's length are limited`() throws {
        func chain(_ count: Int) -> String { Array(repeating: "a", count: count).joined(separator: "&&") }
        func deep(_ count: Int) -> String {
            String(repeating: "(", count: count) + "a" + String(repeating: ")", count: count)
        }
        _ = try TagExpression(chain(TagExpression.maximumTags))
        #expect(throws: TagExpression.Fault.self) { try TagExpression(chain(TagExpression.maximumTags + 1)) }
        _ = try TagExpression(deep(TagExpression.maximumDepth - 1))
        #expect(throws: TagExpression.Fault.self) { try TagExpression(deep(TagExpression.maximumDepth)) }
        #expect(throws: TagExpression.Fault.self) { try TagExpression(deep(100_000)) }
        _ = try TagExpression(String(repeating: "!", count: TagExpression.maximumDepth - 1) + "a")
        #expect(throws: TagExpression.Fault.self) {
            try TagExpression(String(repeating: "!", count: TagExpression.maximumDepth) + "a")
        }
        let tag = String(repeating: "t", count: TagExpression.maximumTagBytes)
        _ = try TagExpression(tag)
        #expect(throws: TagExpression.Fault.self) { try TagExpression(tag + "t") }
        let spaces = String(repeating: " ", count: TagExpression.maximumBytes - 1)
        _ = try TagExpression(spaces + "a")
        #expect(throws: TagExpression.Fault.self) { try TagExpression(spaces + "aa") }
    }
}
