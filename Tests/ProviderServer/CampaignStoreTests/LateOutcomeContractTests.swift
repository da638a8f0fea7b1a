import CampaignStore
import Notifications
import Testing

/// Outcomes that are stored after something else has changed.
@Suite("Late outcomes", .timeLimit(.minutes(3))) struct LateOutcomeContractTests {
    @Test(arguments: StoreKind.allCases)
    func `An installation moves only with the device token that the service accepted`(_ kind: StoreKind) async throws {
        try await kind.with { store in
            let app = try await store.put(Sample.app()).number
            try await store.put(Sample.installation("a", token: "0a0b"), app: app)
            let number = try #require(try await store.numbers(app: app)["a"])
            for (token, environment) in [("0a", Environment.development), ("0a0b", .production)] {
                let message = try await store.add(Sample.message("m\(token)", app: app), idempotency: nil)
                var outcome = Sample.accepted(number)
                (outcome.movedTo, outcome.movedToken) = (.production, token)
                _ = try await store.record([outcome], of: message, position: message.position, event: Sample.event)
                #expect(try await store.installation("a", app: app)?.installation.environment == environment)
            }
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `Outcomes that come after their app was deleted are not kept`(_ kind: StoreKind) async throws {
        try await kind.with { store in
            let app = try await store.put(Sample.app()).number
            let message = try await store.add(Sample.message("m", app: app), idempotency: nil)
            try await store.deleteApp(app)
            let ended = try await store.record(
                [Sample.accepted(1)], of: message, position: message.position, event: Sample.event)
            #expect(ended == 0)
            #expect(try await store.outcomes(of: message.number, .all, after: 0, limit: 10).isEmpty)
        }
    }
}
