import CampaignStore
import Notifications
import Storage
import Testing

@Suite("Audiences by an expression in both stores") struct AudienceExpressionContractTests {
    private static func fill(_ store: any CampaignStore) async throws -> Int64 {
        let app = try await store.put(Sample.app()).number
        let day = Duration.seconds(86_400)
        try await store.put(
            Sample.installation("a") {
                $0.appVersion = "2.9"
                $0.languages = ["en", "sv-SE"]
                $0.timeZone = "Europe/Oslo"
                $0.user = "anna"
                $0.tags = ["news"]
                $0.values = ["points": .integer(7), "city": .string("Oslo"), "premium": .bool(true)]
            }, app: app)
        try await store.put(
            Sample.installation("b") {
                $0.appVersion = "2.10"
                $0.languages = ["svx"]
                $0.registered = Timestamp(
                    milliseconds: Sample.now.milliseconds - UInt64(day.components.seconds) * 10_000)
                $0.created = Timestamp(milliseconds: 1_000)
                $0.appTags = ["news"]
                $0.appValues = ["points": .number(7.5), "city": .string("Åre '\""), "premium": .bool(false)]
                $0.tokens.services = ["voip": "01"]
                $0.tokens.activities = ["order-17": "02"]
            }, app: app)
        try await store.put(
            Sample.installation("c") {
                // The backend's value counts, whatever its type is.
                $0.values = ["points": .string("many"), "premium": .integer(1)]
                $0.appValues = ["points": .integer(100)]
            }, app: app)
        return app
    }

    private static let expected: [(String, [String])] = [
        ("tag = news", ["a", "b"]), ("tag != news", ["c"]), ("language = sv", ["a"]),
        ("not language = sv", ["b", "c"]),
        ("timeZone = Europe/Oslo", ["a"]), ("timeZone = GMT", ["b", "c"]),
        ("environment = development", ["a", "b", "c"]),
        ("environment = production", []), ("user = anna", ["a"]), ("user != anna", ["b", "c"]),
        ("service = voip", ["b"]), ("activity = order-17", ["b"]), ("activity = order-1", []),
        ("appVersion > 2.9", ["b"]), ("appVersion <= 2.9.0", ["a"]), ("not appVersion > 2.9", ["a", "c"]),
        ("appVersion != 2.9", ["b"]), ("lastSeen > P5D", ["a", "c"]), ("lastSeen < P5D", ["b"]),
        ("registered < 2000", ["b"]), ("registered >= 2000", ["a", "c"]),
        ("points > 5", ["a", "b"]), ("points >= 7.5", ["b"]), ("points != 7", ["b"]), ("not points > 5", ["c"]),
        ("points = many", ["c"]), ("city = Oslo", ["a"]), ("city = \"Åre '\\\"\"", ["b"]),
        ("city != Oslo", ["b", "c"]),
        ("premium = true", ["a"]), ("premium = false", ["b"]), ("premium = 1", ["c"]), ("nothing = 1", []),
        ("(points > 7 or user = anna) and not premium = false", ["a"]),
    ]

    private static let large = [
        "a": "9007199254740993", "b": "18446744073709551616", "c": "1e400", "d": "-0.10000000000000000001", "e": "0",
    ]

    @Test(arguments: StoreKind.allCases)
    func `Numbers that no Double has are compared exactly`(_ kind: StoreKind) async throws {
        try await kind.with { store in
            let app = try await store.put(Sample.app()).number
            for (id, digits) in Self.large.sorted(by: { $0.key < $1.key }) {
                let number = try #require(JSONNumber(digits))
                try await store.put(Sample.installation(id) { $0.values = ["n": .number(number)] }, app: app)
            }
            let expected: [(String, [String])] = [
                ("n = 9007199254740993", ["a"]), ("n = 9007199254740992", []), ("n = 9.007199254740993e15", ["a"]),
                ("n != 9007199254740992", ["a", "b", "c", "d", "e"]), ("n = 18446744073709551615", []),
                ("n = 18446744073709551616", ["b"]), ("n > 1e399", ["c"]), ("n >= 1e400", ["c"]),
                ("n > 1e400", []), ("n < -0.1", ["d"]), ("n >= -0.10000000000000000001 and n < 1", ["d", "e"]),
                ("n = -0", ["e"]),
            ]
            for (text, found) in expected {
                let expression = try AudienceExpression(text, services: []) { _ in nil }
                #expect(try await store.found(app) { $0.audience.expression = expression } == found, "\(text)")
            }
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `Each comparison finds its installations`(_ kind: StoreKind) async throws {
        try await kind.with { store in
            let app = try await Self.fill(store)
            for (text, ids) in Self.expected {
                let expression = try AudienceExpression(text, services: ["voip"]) { text in
                    text == "P5D" ? .ago(.seconds(5 * 86_400)) : UInt64(text).map { .at(Timestamp(milliseconds: $0)) }
                }
                let found = try await store.found(app) {
                    $0.audience.expression = expression
                    $0.now = Sample.now
                }
                #expect(found == ids, "\(text)")
            }
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `A value with the character 0 keeps nobody from being found`(_ kind: StoreKind) async throws {
        try await kind.with { store in
            let app = try await Self.fill(store)
            try await store.put(Sample.installation("z") { $0.values = ["text": .string("a\0b")] }, app: app)
            let expression = try AudienceExpression("points > 5", services: []) { _ in nil }
            #expect(try await store.found(app) { $0.audience.expression = expression } == ["a", "b"])
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `An installation keeps the time at which it was added`(_ kind: StoreKind) async throws {
        try await kind.with { store in
            let app = try await store.put(Sample.app()).number
            let later = Sample.now.advanced(by: .seconds(60))
            try await store.put(Sample.installation("a"), app: app)
            try await store.put(Sample.installation("a") { $0.created = later }, app: app)
            try await store.importInstallations([Sample.installation("a") { $0.created = later }], app: app)
            #expect(try await store.installation("a", app: app)?.installation.created == Sample.now)
        }
    }
}
