import CampaignStore
import Notifications
import Storage
import Testing

@Suite("Badges in both stores") struct BadgeContractTests {
    @Test(arguments: StoreKind.allCases)
    func `An accepted notification changes the number once, within its limits`(_ kind: StoreKind) async throws {
        try await kind.with { store in
            let app = try await store.put(Sample.app()).number
            for (id, badge) in [("a", 0), ("b", 5), ("c", Installation.maximumBadge)] as [(String, Int64)] {
                try await store.put(Sample.installation(id) { $0.badge = badge }, app: app)
            }
            let numbers = try await store.numbers(app: app)
            func record(_ change: Int64, as message: String, times: Int = 1) async throws {
                let message = try await store.add(Sample.message(message, app: app), idempotency: nil)
                let outcomes = numbers.values.map {
                    SendOutcome(installation: $0, status: 200, reason: nil, at: Sample.now, badgeChange: change)
                }
                for _ in 0..<times {
                    _ = try await store.record(outcomes, of: message, position: message.position, event: Sample.event)
                }
            }
            func badges() async throws -> [Int64] {
                var badges: [Int64] = []
                for id in ["a", "b", "c"] {
                    badges.append(try #require(try await store.installation(id, app: app)).installation.badge)
                }
                return badges
            }
            // A server that was killed may store an outcome again.
            try await record(2, as: "m1", times: 2)
            #expect(try await badges() == [2, 7, Installation.maximumBadge])
            try await record(-3, as: "m2")
            #expect(try await badges() == [0, 4, Installation.maximumBadge - 3])
        }
    }
}
