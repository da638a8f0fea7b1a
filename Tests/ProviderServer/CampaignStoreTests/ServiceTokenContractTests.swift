import CampaignStore
import Notifications
import Storage
import Testing

@Suite("Device tokens of services in both stores") struct ServiceTokenContractTests {
    @Test(arguments: StoreKind.allCases)
    func `A device token of a service ends alone, unless the app registered since`(_ kind: StoreKind) async throws {
        try await kind.with { store in
            let app = try await store.put(Sample.app()).number
            let later = Sample.now.advanced(by: .seconds(1))
            for id in ["a", "b", "c", "d"] {
                try await store.put(
                    Sample.installation(id) {
                        $0.tokens.services = ["voip": "0a", "widgets": "0b"]
                        $0.tokens.activities = ["order": "0c", "game": "0d"]
                        if id == "b" { $0.registered = later }
                    }, app: app)
            }
            let numbers = try await store.numbers(app: app)
            func ended(_ id: String, _ place: ServiceTokens.Place, _ token: String) throws -> SendOutcome {
                SendOutcome(
                    installation: try #require(numbers[id]), status: 410, reason: "Unregistered", at: Sample.now,
                    endedAt: Sample.now, endedToken: token, endedPlace: place)
            }
            let message = try await store.add(Sample.message("m", app: app), idempotency: nil)
            let outcomes = [
                try ended("a", .service("voip"), "0a"), try ended("b", .service("voip"), "0a"),
                try ended("c", .activity("order"), "0c"),
                // It has another one by now.
                try ended("d", .service("widgets"), "ff"),
            ]
            let count = try await store.record(
                outcomes, of: message, position: message.position, event: Sample.event)
            #expect(count == 0)
            func tokens(_ id: String) async throws -> ServiceTokens? {
                let installation = try #require(try await store.installation(id, app: app)).installation
                #expect(installation.end == nil)
                return installation.tokens
            }
            var full = ServiceTokens()
            full.services = ["voip": "0a", "widgets": "0b"]
            full.activities = ["order": "0c", "game": "0d"]
            for id in ["b", "d"] { #expect(try await tokens(id) == full) }
            var (a, c) = (full, full)
            a.services["voip"] = nil
            c.activities["order"] = nil
            #expect(try await tokens("a") == a)
            #expect(try await tokens("c") == c)
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `An audience is found by the tags of the app and of the backend`(_ kind: StoreKind) async throws {
        try await kind.with { store in
            let app = try await store.put(Sample.app()).number
            for (id, tags, appTags) in [
                ("a", ["news"], nil), ("b", [], ["news"]), ("c", ["vip"], ["news", "sv"]), ("d", ["newsletter"], []),
            ] as [(String, [String], [String]?)] {
                try await store.put(
                    Sample.installation(id) {
                        $0.tags = tags
                        $0.appTags = appTags
                    }, app: app)
            }
            func found(_ tags: String) async throws -> [String] {
                let expression = try AudienceExpression(tags: tags)
                return try await store.found(app) { $0.audience.expression = expression }
            }
            #expect(try await found("news") == ["a", "b", "c"])
            #expect(try await found("!news") == ["d"])
            #expect(try await found("news && vip && sv") == ["c"])
        }
    }
}
