import Testing

@testable import CampaignStore

struct TagExpressionTests {
    private static func tag(_ name: String) -> AudienceExpression { .condition(.tag(name)) }

    @Test(arguments: [
        ("news", tag("news")),
        ("!muted", .not(tag("muted"))),
        ("a&&b", .and(tag("a"), tag("b"))),
        ("a || b && c", .or(tag("a"), .and(tag("b"), tag("c")))),
        ("!a && b", .and(.not(tag("a")), tag("b"))),
        ("(a || b) && c", .and(.or(tag("a"), tag("b")), tag("c"))),
        ("(news && sv) && !muted", .and(.and(tag("news"), tag("sv")), .not(tag("muted")))),
        (" team:red@x#1.2-3_4 ", tag("team:red@x#1.2-3_4")),
    ])
    func `An expression is read by precedence`(_ text: String, _ expected: AudienceExpression) throws {
        #expect(try AudienceExpression(tags: text) == expected)
    }

    @Test(arguments: [
        ("", 0), ("  ", 2), ("a &&", 4), ("a & b", 2), ("a | b", 2), ("a b", 2), ("(a", 2), ("a)", 1), ("()", 1),
        ("&& a", 0), ("a ' OR 1=1", 2), ("\u{e5}", 0), ("a\u{0}", 1),
    ])
    func `A fault has its place`(_ text: String, _ offset: Int) {
        #expect(throws: ExpressionFault.self) { try AudienceExpression(tags: text) }
        do throws(ExpressionFault) { _ = try AudienceExpression(tags: text) } catch { #expect(error.offset == offset) }
    }

    @Test func `Length, depth, tags and a tag's length are limited`() throws {
        func chain(_ count: Int) -> String { Array(repeating: "a", count: count).joined(separator: "&&") }
        func deep(_ count: Int) -> String {
            String(repeating: "(", count: count) + "a" + String(repeating: ")", count: count)
        }
        _ = try AudienceExpression(tags: chain(AudienceExpression.maximumConditions))
        #expect(throws: ExpressionFault.self) {
            try AudienceExpression(tags: chain(AudienceExpression.maximumConditions + 1))
        }
        _ = try AudienceExpression(tags: deep(AudienceExpression.maximumDepth - 1))
        #expect(throws: ExpressionFault.self) { try AudienceExpression(tags: deep(AudienceExpression.maximumDepth)) }
        #expect(throws: ExpressionFault.self) { try AudienceExpression(tags: deep(100_000)) }
        _ = try AudienceExpression(tags: String(repeating: "!", count: AudienceExpression.maximumDepth - 1) + "a")
        #expect(throws: ExpressionFault.self) {
            try AudienceExpression(tags: String(repeating: "!", count: AudienceExpression.maximumDepth) + "a")
        }
        let tag = String(repeating: "t", count: Installation.maximumTagBytes)
        _ = try AudienceExpression(tags: tag)
        #expect(throws: ExpressionFault.self) { try AudienceExpression(tags: tag + "t") }
        let spaces = String(repeating: " ", count: AudienceExpression.maximumBytes - 1)
        _ = try AudienceExpression(tags: spaces + "a")
        #expect(throws: ExpressionFault.self) { try AudienceExpression(tags: spaces + "aa") }
    }
}
