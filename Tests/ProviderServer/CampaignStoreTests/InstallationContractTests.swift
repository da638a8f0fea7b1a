import CampaignStore
import CommonTesting
import Foundation
import Notifications
import Storage
import Testing

@Suite("Apps and installations in both stores") struct InstallationContractTests {
    @Test(arguments: StoreKind.allCases)
    func `An app is read as it was stored, and keeps its number when it changes`(_ kind: StoreKind) async throws {
        try await kind.with { store in
            var app = try await store.put(Sample.app())
            #expect(app.number > 0)
            #expect(try await store.apps() == [app])
            app.serverKeyDigest = [9]
            app.acceptsClaimedUsers = false
            app.endpoints[.production] = app.endpoints[.development]
            #expect(try await store.put(app) == app)
            let other = try await store.put(Sample.app("com.example.other"))
            #expect(other.number != app.number)
            #expect(try await store.apps() == [other, app])
        }
    }

    private struct Refused: Error {}

    @Test(arguments: StoreKind.allCases)
    func `Changes of an app at the same time do not overwrite each other`(_ kind: StoreKind) async throws {
        try await kind.with { store in
            try await withThrowingTaskGroup(of: Void.self) { group in
                for number in 0..<12 as Range<UInt8> {
                    group.addTask {
                        _ = try await store.changeApp("com.example.shop") { known in
                            var app = known ?? Sample.app()
                            app.serverKeyDigest.append(10 + number)
                            return app
                        }
                    }
                }
                try await group.waitForAll()
            }
            let apps = try await store.apps()
            #expect(apps.count == 1 && apps[0].serverKeyDigest.sorted() == [3, 4] + Array(10..<22))
            await #expect(throws: Refused.self) {
                _ = try await store.changeApp("com.example.shop") { _ in throw Refused() }
            }
            #expect(try await store.apps() == apps)
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `An import does not make a registration of the same device token older`(_ kind: StoreKind) async throws {
        try await kind.with { store in
            let app = try await store.put(Sample.app()).number
            for (id, token) in [("a", "0a"), ("b", "0b")] {
                try await store.put(Sample.installation(id, token: token), app: app)
            }
            let older = Timestamp(milliseconds: 5)
            try await store.importInstallations(
                [("a", "0a"), ("b", "0c"), ("d", "0d")].map { id, token in
                    Sample.installation(id, token: token) { $0.registered = older }
                }, app: app)
            for (id, registered) in [("a", Sample.now), ("b", older), ("d", older)] {
                #expect(try await store.installation(id, app: app)?.installation.registered == registered, "\(id)")
            }
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `A deleted app takes its installations, messages and hooks with it, and no other's`(
        _ kind: StoreKind
    )
        async throws
    {
        try await kind.with { store in
            let apps = [try await store.put(Sample.app()), try await store.put(Sample.app("com.example.other"))]
            for app in apps {
                try await store.put(Sample.installation("a"), app: app.number)
                let message = try await store.add(
                    Sample.message("m\(app.number)", app: app.number), idempotency: nil)
                let number = try #require(try await store.numbers(app: app.number)["a"])
                _ = try await store.record(
                    [Sample.accepted(number)], of: message, position: message.position, event: Sample.event)
                try await store.add(Hook(id: "h\(app.number)", app: app.number, url: "u", sealedSecret: []), limit: 5)
            }
            try await store.deleteApp(apps[0].number)
            #expect(try await store.apps().map(\.bundleID) == ["com.example.other"])
            for (app, isThere) in zip(apps, [false, true]) {
                let installation = try await store.installation("a", app: app.number)
                #expect((installation != nil) == isThere)
                let message = try await store.message("m\(app.number)")
                #expect((message != nil) == isThere)
                #expect(try await store.hooks(app: app.number).isEmpty != isThere)
            }
            await #expect(throws: StoreError.self) {
                try await store.put(Sample.installation("b"), app: apps[0].number)
            }
            #expect(try await store.installation("b", app: apps[0].number) == nil)
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `An installation is read as it was stored`(_ kind: StoreKind) async throws {
        try await kind.with { store in
            let app = try await store.put(Sample.app()).number
            let full = Sample.installation("full") {
                $0.environment = .production
                $0.languages = ["sv-SE", "en"]
                $0.timeZone = "Europe/Stockholm"
                $0.user = "anna ☃️ \u{1f600}"
                $0.tags = ["a:b", "news"]
                $0.appTags = ["sport", "sv"]
                $0.appValues = ["level": .integer(4)]
                $0.tokens.services = ["voip": "01ff", "liveactivity": "02"]
                $0.tokens.activities = ["order-17": "03"]
                $0.appVersion = "1.0"
                $0.values = ["name": .string("Anna"), "count": .integer(3), "on": .bool(true)]
                $0.badge = 7
                $0.registered = Timestamp(milliseconds: 2)
                $0.created = Timestamp(milliseconds: 1)
                $0.changed = Timestamp(milliseconds: 3)
                $0.end = Installation.End(at: Sample.now, reason: "Unregistered")
            }
            let bare = Sample.installation("bare")
            // A property with the value of a bare installation does not show that it is stored.
            #expect(equalProperties(full, bare) == [])
            let untagged = Sample.installation("untagged") { $0.appTags = [] }
            for installation in [full, bare, untagged] {
                try await store.put(installation, app: app, secret: [7])
                let stored = try #require(try await store.installation(installation.id, app: app))
                #expect(stored == StoredInstallation(installation, secretDigest: [7]))
            }
            #expect(
                try await store.installations(app: app, after: 0, limit: 10).map(\.installation.id)
                    == ["full", "bare", "untagged"])
            let first = try await store.installations(app: app, after: 0, limit: 1)
            let rest = try await store.installations(app: app, after: try #require(first.first).number, limit: 10)
            #expect(rest.map(\.installation.id) == ["bare", "untagged"])
            #expect(try await store.lastInstallation() == rest.last?.number)
            #expect(try await store.timeZones(app: app) == ["GMT"])
            #expect(try await store.installation("full", app: app + 1) == nil)
            #expect(try await store.installation("\0", app: app) == nil)
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `A change that is refused changes nothing, and its error arrives`(_ kind: StoreKind) async throws {
        try await kind.with { store in
            let app = try await store.put(Sample.app()).number
            try await store.put(Sample.installation("a"), app: app)
            await #expect(throws: Refused.self) {
                _ = try await store.changeInstallation("a", app: app) { _ in throw Refused() }
            }
            let kept = try await store.changeInstallation("a", app: app) { _ in .keep }
            #expect(kept?.installation == Sample.installation("a"))
            #expect(try await store.changeInstallation("a", app: app) { _ in .delete } == nil)
            #expect(try await store.installation("a", app: app) == nil)
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `No change of an installation is lost when many change it at once`(_ kind: StoreKind) async throws {
        try await kind.with { store in
            let app = try await store.put(Sample.app()).number
            try await withThrowingTaskGroup(of: Void.self) { group in
                for number in 0..<40 {
                    group.addTask {
                        _ = try await store.changeInstallation("a", app: app) { known in
                            var new = known?.installation ?? Sample.installation("a")
                            new.tags = (new.tags + ["t\(number)"]).sorted()
                            return .put(StoredInstallation(new, secretDigest: nil))
                        }
                    }
                }
                try await group.waitForAll()
            }
            let stored = try #require(try await store.installation("a", app: app))
            #expect(stored.installation.tags == (0..<40).map { "t\($0)" }.sorted())
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `A device token belongs to the installation that got it last`(_ kind: StoreKind) async throws {
        try await kind.with { store in
            let app = try await store.put(Sample.app()).number
            try await store.put(Sample.installation("a", token: "0a"), app: app)
            try await store.put(Sample.installation("p", token: "0a") { $0.environment = .production }, app: app)
            try await store.put(Sample.installation("b", token: "0a"), app: app)
            #expect(try await store.installation("a", app: app)?.installation.end?.reason == "replaced")
            for id in ["b", "p"] { #expect(try await store.installation(id, app: app)?.installation.end == nil) }
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `An import adds and replaces, and the secrets stay`(_ kind: StoreKind) async throws {
        try await kind.with { store in
            let app = try await store.put(Sample.app()).number
            try await store.put(Sample.installation("a", token: "0a"), app: app, secret: [5])
            try await store.put(Sample.installation("b", token: "0b"), app: app, secret: [6])
            try await store.importInstallations([], app: app)
            // a and b exchange their device tokens, c comes twice, and d and e have the same device token.
            try await store.importInstallations(
                [
                    Sample.installation("a", token: "0b") { $0.tags = ["x"] }, Sample.installation("b", token: "0a"),
                    Sample.installation("c", token: "0c"), Sample.installation("d", token: "0d"),
                    Sample.installation("c", token: "cc"), Sample.installation("e", token: "0d"),
                ], app: app)
            let stored = try await store.installations(app: app, after: 0, limit: 100).map(\.installation)
            #expect(stored.map(\.id) == ["a", "b", "c", "d", "e"])
            #expect(stored.map(\.deviceToken) == ["0b", "0a", "cc", "0d", "0d"])
            #expect(stored.map { $0.end?.reason } == [nil, nil, nil, "replaced", nil])
            #expect(stored.first?.tags == ["x"])
            #expect(try await store.installation("a", app: app)?.secretDigest == [5])
            #expect(try await store.installation("e", app: app)?.secretDigest == nil)
        }
    }
}
