#if PostgreSQL
    import CampaignStore
    import CommonTesting
    import Notifications
    import PostgresCampaignStore
    import PostgresTesting
    import Storage
    import Synchronization
    import Testing

    /// A request hangs on its way to the database. Its client has given it up, and another server has answered a newer one.
    @Suite("Changes that come late to a shared store", .startsPrograms, .timeLimit(.minutes(3))) struct LateChangeTests
    {
        /// How long each change takes until it has its locks.
        private final class Delay: Sendable {
            private let start = ContinuousClock.now
            private let passed = Mutex(Duration.zero)
            let each = Mutex(Duration.zero)

            func next() -> ContinuousClock.Instant {
                let step = each.withLock { $0 }
                return start.advanced(
                    by: passed.withLock { passed in
                        passed += step
                        return passed
                    })
            }
        }

        private func withStore(_ body: (PostgresCampaignStore, Delay) async throws -> Void) async throws {
            let delay = Delay()
            let store = try await StoreKind.open(try await TestServer.makeDatabase(), uptime: { delay.next() })
            try await withCleanUp {
                try await body(store, delay)
            } cleanUp: {
                await store.close()
            }
        }

        @Test func `A late change leaves what a newer one has written`() async throws {
            try await withStore { store, delay in
                let app = try await store.put(Sample.app()).number
                try await store.put(Sample.installation("a", token: "01"), app: app)
                let audience = SavedAudience(name: "all", app: app, document: [1], changed: Sample.now)
                _ = try await store.put(audience, limit: 1)

                delay.each.withLock { $0 = Promptness.limit + .milliseconds(1) }
                for error in [
                    await #expect(throws: StoreError.self) {
                        try await store.put(Sample.installation("a", token: "02"), app: app)
                    },
                    await #expect(throws: StoreError.self) {
                        _ = try await store.changeInstallation("a", app: app) { _ in .delete }
                    },
                    await #expect(throws: StoreError.self) {
                        try await store.importInstallations([Sample.installation("a", token: "02")], app: app)
                    },
                    await #expect(throws: StoreError.self) {
                        _ = try await store.changeApp(Sample.app().bundleID) { _ in
                            var app = Sample.app()
                            app.teamID = "FGHIJ67890"
                            return app
                        }
                    },
                    await #expect(throws: StoreError.self) {
                        _ = try await store.put(
                            SavedAudience(name: "all", app: app, document: [2], changed: Sample.now), limit: 1)
                    },
                    await #expect(throws: StoreError.self) { _ = try await store.deleteAudience("all", app: app) },
                ] {
                    #expect(error?.code == .unavailable && error?.cause.contains("so long") == true)
                }
                #expect(try await store.installation("a", app: app)?.installation.deviceToken == "01")
                #expect(try await store.apps().map(\.teamID) == ["ABCDE12345"])
                #expect(try await store.audience("all", app: app) == audience)

                // In time, they are made.
                delay.each.withLock { $0 = Promptness.limit }
                try await store.put(Sample.installation("a", token: "02"), app: app)
                #expect(try await store.installation("a", app: app)?.installation.deviceToken == "02")
                #expect(try await store.deleteAudience("all", app: app))
            }
        }

        @Test func `A store of one server refuses nothing for being late`() async throws {
            try await StoreKind.sqlite.with { store in
                try store.promptness()()
                #expect(!store.isShared)
            }
        }
    }
#endif
