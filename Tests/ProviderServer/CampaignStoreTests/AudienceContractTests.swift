import CampaignStore
import Notifications
import Storage
import Testing

@Suite("Saved audiences in both stores") struct AudienceContractTests {
    private static func audience(_ name: String, app: Int64, _ document: String = "{}") -> SavedAudience {
        SavedAudience(name: name, app: app, document: Array(document.utf8), changed: Sample.now)
    }

    @Test(arguments: StoreKind.allCases)
    func `An audience is read as it was stored, and an app has only its own`(_ kind: StoreKind) async throws {
        try await kind.with { store in
            let app = try await store.put(Sample.app()).number
            let other = try await store.put(Sample.app("com.example.other")).number
            let (first, second) = (
                Self.audience("a", app: app, #"{"tags":"é"}"#), Self.audience("B_2", app: app)
            )
            for audience in [first, second, Self.audience("a", app: other)] {
                #expect(try await store.put(audience, limit: 2))
            }
            // The order is the one of the bytes, and not of a language.
            #expect(try await store.audiences(app: app) == [second, first])
            #expect(try await store.audience("a", app: app) == first)
            for name in ["A", "\0", ""] { #expect(try await store.audience(name, app: app) == nil) }
            var changed = Self.audience("a", app: app, #"{"everybody":true}"#)
            changed.changed = Sample.now.advanced(by: .seconds(1))
            // The limit is for new ones.
            #expect(try await store.put(changed, limit: 1) == false)
            #expect(try await store.audience("a", app: app) == changed)
            #expect(try await store.audience("a", app: other) == Self.audience("a", app: other))
            #expect(try await store.deleteAudience("a", app: app))
            #expect(try await store.deleteAudience("a", app: app) == false)
            #expect(try await store.audiences(app: app) == [second])
            #expect(try await store.audiences(app: other).map(\.name) == ["a"])
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `Requests at the same time do not exceed the limit`(_ kind: StoreKind) async throws {
        try await kind.with { store in
            let app = try await store.put(Sample.app()).number
            let refusals = try await withThrowingTaskGroup(of: StoreError.Code?.self) { group in
                for number in 0..<12 {
                    group.addTask {
                        do throws(StoreError) {
                            let isNew = try await store.put(Self.audience("a\(number)", app: app), limit: 3)
                            #expect(isNew)
                            return nil
                        } catch {
                            return error.code
                        }
                    }
                }
                var refusals: [StoreError.Code] = []
                for try await code in group { if let code { refusals.append(code) } }
                return refusals
            }
            #expect(refusals == Array(repeating: .conflict, count: 9))
            #expect(try await store.audiences(app: app).count == 3)
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `A deleted app takes its audiences with it`(_ kind: StoreKind) async throws {
        try await kind.with { store in
            let app = try await store.put(Sample.app()).number
            #expect(try await store.put(Self.audience("a", app: app), limit: 1))
            try await store.deleteApp(app)
            #expect(try await store.audiences(app: app).isEmpty)
            await #expect(throws: StoreError.self) { _ = try await store.put(Self.audience("b", app: app), limit: 1) }
            #expect(try await store.audience("b", app: app) == nil)
        }
    }
}
