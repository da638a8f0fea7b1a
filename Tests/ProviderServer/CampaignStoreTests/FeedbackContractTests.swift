import Notifications
import CampaignStore
import Testing

/// The list of the feedback service (Guide, 3.1.3), and the lists that people ask for.
@Suite("Feedback and lists in both stores") struct FeedbackContractTests {
    @Test(arguments: StoreKind.allCases)
    func `The feedback service ends installations that did not register again`(_ kind: StoreKind) async throws {
        try await kind.with { store in
            let app = try await store.put(Sample.app()).number
            let other = try await store.put(Sample.app("com.example.other")).number
            for (index, number) in [app, other].enumerated() {
                try await store.add(Hook(id: "h\(index)", app: number, url: "https://x", sealedSecret: []), limit: 1)
            }
            let later = Sample.now.advanced(by: .seconds(1))
            try await store.put(Sample.installation("a", token: "0a"), app: app)
            try await store.put(Sample.installation("b", token: "0b") { $0.registered = later }, app: app)
            try await store.put(Sample.installation("c", token: "0c"), app: app)
            try await store.put(Sample.installation("d", token: "0d"), app: app)
            try await store.put(Sample.installation("p", token: "0a") { $0.environment = .production }, app: app)
            try await store.put(Sample.installation("o", token: "0a"), app: other)
            let before = Timestamp(milliseconds: Sample.now.milliseconds - 1)
            // One that ended exactly when it registered, one that registered later, one that comes twice, and an
            // unknown one.
            let list: [(token: String, endedAt: Timestamp)] = [
                ("0a", Sample.now), ("0b", Sample.now), ("0c", before), ("0c", later), ("ff", later),
            ]
            for count in [2, 0] {
                #expect(
                    try await store.endInstallations(
                        app: app, environment: .development, tokens: list, event: Sample.event) == count)
            }
            let ends: [(id: String, at: Timestamp?)] = [
                ("a", Sample.now), ("b", nil), ("c", later), ("d", nil), ("p", nil),
            ]
            for (id, at) in ends {
                let end = try await store.installation(id, app: app)?.installation.end
                #expect(end == at.map { Installation.End(at: $0, reason: Installation.End.feedback) }, "\(id)")
            }
            #expect(try await store.installation("o", app: other)?.installation.end == nil)
            #expect(
                try await store.endInstallations(
                    app: app, environment: .development, tokens: [], event: Sample.event) == 0)
            // One event, for this app.
            let deliveries = try await store.openDeliveries(limit: 10)
            #expect(deliveries.map(\.hook.id) == ["h0"])
            #expect(try await store.openEvents() == ["a,c"])
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `An installation that ended by feedback begins again with a registration`(_ kind: StoreKind) async throws {
        try await kind.with { store in
            let app = try await store.put(Sample.app()).number
            try await store.put(Sample.installation("a", token: "0a"), app: app)
            let end = {
                try await store.endInstallations(
                    app: app, environment: .development, tokens: [("0a", Sample.now)], event: Sample.event)
            }
            #expect(try await end() == 1)
            #expect(try await store.found(app).isEmpty)
            let later = Sample.now.advanced(by: .seconds(1))
            try await store.put(Sample.installation("a", token: "0a") { $0.registered = later }, app: app)
            // The same list once more.
            #expect(try await end() == 0)
            #expect(try await store.found(app) == ["a"])
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `Outcomes are listed by how they ended, page by page`(_ kind: StoreKind) async throws {
        try await kind.with { store in
            let app = try await store.put(Sample.app()).number
            let ids = (0..<6).map { "i\($0)" }
            for id in ids { try await store.put(Sample.installation(id), app: app) }
            let numbers = try await store.numbers(app: app)
            let message = try await store.add(Sample.message("m", app: app), idempotency: nil)
            let outcomes = try ids.enumerated().map { index, id in
                let number = try #require(numbers[id])
                return index % 2 == 0
                    ? Sample.accepted(number)
                    : SendOutcome(
                        installation: number, status: 400, reason: index == 1 ? "BadTopic" : "BadPath", at: Sample.now)
            }
            _ = try await store.record(
                outcomes, of: message, position: message.position, event: Sample.event)
            func list(_ filter: OutcomeFilter, after: Int64 = 0, limit: Int = 10) async throws -> [String?] {
                try await store.outcomes(of: message.number, filter, after: after, limit: limit).map(\.installation)
            }
            #expect(try await list(.all) == ids)
            #expect(try await list(.accepted) == ["i0", "i2", "i4"])
            #expect(try await list(.failed) == ["i1", "i3", "i5"])
            #expect(try await list(.reason("BadPath")) == ["i3", "i5"])
            for reason in ["none", "\0", ""] { #expect(try await list(.reason(reason)) == []) }
            #expect(try await list(.accepted, limit: 2) == ["i0", "i2"])
            #expect(try await list(.accepted, after: numbers["i2"] ?? 0, limit: 2) == ["i4"])
            #expect(try await list(.failed, after: numbers["i2"] ?? 0, limit: 1) == ["i3"])
            #expect(try await store.outcomes(of: message.number + 1, .all, after: 0, limit: 10).isEmpty)
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `A user's installations are listed, also those that have ended`(_ kind: StoreKind) async throws {
        try await kind.with { store in
            let app = try await store.put(Sample.app()).number
            let other = try await store.put(Sample.app("com.example.other")).number
            try await store.put(Sample.installation("a") { $0.user = "anna" }, app: app)
            try await store.put(Sample.installation("b") { $0.user = "Anna" }, app: app)
            try await store.put(Sample.installation("c"), app: app)
            try await store.put(
                Sample.installation("d") {
                    $0.user = "anna"
                    $0.end = Installation.End(at: Sample.now, reason: "Unregistered")
                }, app: app)
            try await store.put(Sample.installation("a") { $0.user = "anna" }, app: other)
            func list(_ user: String, limit: Int = 10) async throws -> [String] {
                try await store.installations(app: app, user: user, limit: limit).map(\.installation.id)
            }
            #expect(try await list("anna") == ["a", "d"])
            #expect(try await list("anna", limit: 1) == ["a"])
            #expect(try await list("Anna") == ["b"])
            for user in ["nobody", "", "\0"] { #expect(try await list(user) == []) }
        }
    }
}
