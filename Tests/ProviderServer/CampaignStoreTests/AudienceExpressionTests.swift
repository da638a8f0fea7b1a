import Notifications
import Testing

@testable import CampaignStore

struct AudienceExpressionTests {
    private typealias Expression = AudienceExpression

    private static func read(_ text: String) throws(ExpressionFault) -> AudienceExpression {
        try AudienceExpression(text, services: ["voip"]) { text in
            text == "P30D" ? .ago(.seconds(30 * 86_400)) : UInt64(text).map { .at(Timestamp(milliseconds: $0)) }
        }
    }

    private static func tag(_ name: String) -> AudienceExpression { .condition(.tag(name)) }

    @Test func `An expression is read by precedence`() throws {
        let (a, b, c) = (Self.tag("a"), Self.tag("b"), Self.tag("c"))
        #expect(try Self.read("tag = a or tag = b and tag=c") == .or(a, .and(b, c)))
        #expect(try Self.read("(tag = a or tag = b) and not tag = c") == .and(.or(a, b), .not(c)))
        #expect(try Self.read("not not tag == a") == .not(.not(a)))
        #expect(try Self.read("tag != a") == .not(a))
        #expect(try Self.read("\ttag = a\r\n\tand\ttag\t=\tb\n") == .and(a, b))
        // Words that begin like an operator are names.
        #expect(
            try Self.read("order = 1 and android = true")
                == .and(.condition(.number(name: "order", .equal, 1)), .condition(.boolean(name: "android", true))))
    }

    @Test func `Each property has its comparisons`() throws {
        let expected: [(String, AudienceExpression.Condition)] = [
            ("language = PT", .language("PT")), ("timeZone = Europe/Oslo", .timeZone("Europe/Oslo")),
            ("environment = development", .environment(.development)), ("user = \"a \\\"b\\\"\"", .user("a \"b\"")),
            ("service = voip", .service("voip")), ("activity = order-17", .activity("order-17")),
            ("lastSeen > P30D", .lastSeen(.greater, .ago(.seconds(30 * 86_400)))),
            ("registered<=5", .registered(.lessOrEqual, .at(Timestamp(milliseconds: 5)))),
            ("points >= 5.5", .number(name: "points", .greaterOrEqual, 5.5)),
            ("points = 0x1", .text(name: "points", "0x1")), ("points = 01", .text(name: "points", "01")),
            ("city = Oslo", .text(name: "city", "Oslo")), ("city = \"5\"", .text(name: "city", "5")),
            ("premium = false", .boolean(name: "premium", false)),
        ]
        for (text, condition) in expected { #expect(try Self.read(text) == .condition(condition), "\(text)") }
        let version = try #require(AppVersion("2.1"))
        #expect(try Self.read("appVersion < 2.1.0") == .condition(.appVersion(.less, version)))
    }

    @Test(arguments: [
        ("", 0), ("tag", 3), ("tag =", 5), ("tag = a tag = b", 8), ("(tag = a", 8), ("tag < a", 6),
        ("tag = \"a b\"", 6),
        ("lastSeen > soon", 11), ("appVersion > beta", 13), ("environment = sandbox", 14), ("service = alert", 10),
        ("city > Oslo", 7), ("city = \"Oslo", 12), ("a'b = 1", 6), ("tag = a and", 11), ("language = \"p t\"", 11),
    ])
    func `A fault has its place`(_ text: String, _ offset: Int) {
        do throws(ExpressionFault) {
            _ = try Self.read(text)
            Issue.record("\(text) was read")
        } catch {
            #expect(error.offset == offset, "\(text): \(error)")
        }
    }

    @Test func `Length, depth and comparisons are limited`() throws {
        func chain(_ count: Int) -> String { Array(repeating: "tag=a", count: count).joined(separator: " and ") }
        _ = try Self.read(chain(AudienceExpression.maximumConditions))
        #expect(throws: ExpressionFault.self) {
            try Self.read(chain(AudienceExpression.maximumConditions + 1))
        }
        func deep(_ count: Int) -> String {
            String(repeating: "(", count: count) + "tag=a" + String(repeating: ")", count: count)
        }
        _ = try Self.read(deep(AudienceExpression.maximumDepth - 1))
        for count in [AudienceExpression.maximumDepth, 900] {
            #expect(throws: ExpressionFault.self) { try Self.read(deep(count)) }
        }
        let long = "tag=a" + String(repeating: " ", count: AudienceExpression.maximumBytes)
        #expect(throws: ExpressionFault.self) { try Self.read(long) }
    }

    @Test func `Versions are compared by their numbers`() throws {
        func version(_ text: String) throws -> AppVersion { try #require(AppVersion(text)) }
        #expect(try version("2.9") < version("2.10"))
        #expect(try version("2.1") == version("2.1.0"))
        #expect(try version("2.1 (354)") == version("2.1"))
        #expect(try version("2.1") < version("2.1.1") && version("10") > version("9.9.9"))
        #expect(try version("1.99999999999999999999999") > version("1.5"))
        for text in ["", "beta", ".1", "v2"] { #expect(AppVersion(text) == nil) }
    }
}
