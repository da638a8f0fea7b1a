#if PostgreSQL
    import CommonTesting
    import CampaignStore
    import Notifications
    import PostgresCampaignStore
    import PostgresClient
    import PostgresTesting
    import Storage
    import Testing

    /// Several servers on one database, and a database that is not suitable or not there.
    @Suite("A store that servers share", .startsPrograms, .timeLimit(.minutes(3))) struct SharedStoreTests {
        /// Two servers on one database.
        private func withTwo(
            _ body: (_ first: PostgresCampaignStore, _ second: PostgresCampaignStore) async throws -> Void
        ) async throws {
            let location = try await TestServer.makeDatabase()
            let first = try await StoreKind.open(location, identity: 1)
            let second = try await StoreKind.open(location, identity: 2)
            try await withCleanUp {
                try await body(first, second)
            } cleanUp: {
                for store in [first, second] { await store.close() }
            }
        }

        @Test func `One server at a time holds a message, until it releases it or its time ends`() async throws {
            try await withTwo { first, second in
                let app = try await first.put(Sample.app()).number
                let message = try await first.add(Sample.message("m", app: app), idempotency: nil).number
                #expect(try await first.hold(message, for: .seconds(600)) != nil)
                #expect(try await second.hold(message, for: .seconds(600)) == nil)
                #expect(try await second.openMessages().isEmpty)
                #expect(try await first.openMessages().map(\.number) == [message])
                // Only the one that holds it releases it.
                try await second.release(message)
                #expect(try await second.hold(message, for: .seconds(600)) == nil)
                try await first.release(message)
                #expect(try await second.hold(message, for: .zero) != nil)
                // The time has ended.
                #expect(try await first.openMessages().map(\.number) == [message])
                #expect(try await first.hold(message, for: .seconds(600)) != nil)
                #expect(try await second.hold(message, for: .seconds(600)) == nil)
            }
        }

        @Test func `Of many servers that take a message at once, one gets it`() async throws {
            let location = try await TestServer.makeDatabase()
            let stores = try await withThrowingTaskGroup(of: PostgresCampaignStore.self) { group in
                for identity in 1...8 as ClosedRange<UInt8> {
                    // All of them make the tables.
                    group.addTask { try await StoreKind.open(location, identity: identity) }
                }
                var stores: [PostgresCampaignStore] = []
                for try await store in group { stores.append(store) }
                return stores
            }
            let app = try await stores[0].put(Sample.app()).number
            let message = try await stores[0].add(Sample.message("m", app: app), idempotency: nil).number
            let taken = try await withThrowingTaskGroup(of: Bool.self) { group in
                for store in stores { group.addTask { try await store.hold(message, for: .seconds(600)) != nil } }
                var count = 0
                for try await isTaken in group where isTaken { count += 1 }
                return count
            }
            #expect(taken == 1)
            for store in stores { await store.close() }
        }

        @Test func `A server that lost a message stores its outcomes, but not its position`() async throws {
            try await withTwo { first, second in
                let app = try await first.put(Sample.app()).number
                for id in ["a", "b"] { try await first.put(Sample.installation(id), app: app) }
                let numbers = try await first.numbers(app: app).values.sorted()
                let message = try await first.add(Sample.message("m", app: app), idempotency: nil)
                #expect(try await first.hold(message.number, for: .zero) != nil)
                #expect(try await second.hold(message.number, for: .seconds(600)) != nil)
                var position = message.position
                position.after = numbers[1]
                for (store, number) in [(second, numbers[1]), (first, numbers[0])] {
                    _ = try await store.record(
                        [Sample.accepted(number)], of: message, position: position, event: Sample.event)
                    position.after = 0
                }
                let stored = try #require(try await first.message("m"))
                #expect(stored.tally.accepted == 2 && stored.position.after == numbers[1])
            }
        }

        @Test func `One server at a time sends an event, and nobody sends it again`() async throws {
            try await withTwo { first, second in
                let app = try await first.put(Sample.app()).number
                try await first.add(Hook(id: "h", app: app, url: "https://x", sealedSecret: []), limit: 1)
                _ = try await first.add(Sample.message("m", app: app), idempotency: nil)
                _ = try await first.changeMessage("m") { _ in ProviderEvent(kind: "k", body: []) }
                var delivery = try #require(try await first.openDeliveries(limit: 10).first)
                #expect(try await first.hold(delivery, for: .seconds(600)) != nil)
                #expect(try await second.hold(delivery, for: .seconds(600)) == nil)
                #expect(try await second.openDeliveries(limit: 10).isEmpty)
                let stale = delivery
                delivery.attempts = 1
                delivery.cause = "no"
                try await first.record(delivery)
                // The second server has read it before the attempt.
                #expect(try await second.hold(stale, for: .seconds(600)) == nil)
                #expect(try await second.openDeliveries(limit: 10).map(\.attempts) == [1])
                #expect(try await second.hold(delivery, for: .seconds(600)) != nil)
                delivery.attempts = 2
                delivery.next = nil
                try await second.record(delivery)
                #expect(try await first.hold(delivery, for: .seconds(600)) == nil)
            }
        }

        @Test func `Saved audiences are replaced by name, and have a limit`() async throws {
            try await withTwo { first, second in
                let app = try await first.put(Sample.app()).number
                func audience(_ name: String, _ document: String) -> SavedAudience {
                    SavedAudience(name: name, app: app, document: Array(document.utf8), changed: Sample.now)
                }
                #expect(try await first.put(audience("b", "1"), limit: 2))
                #expect(try await second.put(audience("a", "2"), limit: 2))
                #expect(try await second.put(audience("b", "3"), limit: 2) == false)
                let error = await #expect(throws: StoreError.self) {
                    _ = try await first.put(audience("c", "4"), limit: 2)
                }
                #expect(error?.code == .conflict)
                #expect(try await first.audiences(app: app) == [audience("a", "2"), audience("b", "3")])
                #expect(try await first.audience("b", app: app) == audience("b", "3"))
                #expect(try await first.audience("b", app: app + 1) == nil)
                #expect(try await first.deleteAudience("b", app: app + 1) == false)
                #expect(try await first.deleteAudience("b", app: app))
                #expect(try await second.audiences(app: app).map(\.name) == ["a"])
            }
        }

        @Test func `The feedback service ends installations that did not register again since`() async throws {
            try await withTwo { first, _ in
                let app = try await first.put(Sample.app()).number
                try await first.add(Hook(id: "h", app: app, url: "https://x", sealedSecret: []), limit: 1)
                let later = Sample.now.advanced(by: .seconds(1))
                try await first.put(Sample.installation("a", token: "0a"), app: app)
                try await first.put(Sample.installation("b", token: "0b") { $0.registered = later }, app: app)
                try await first.put(
                    Sample.installation("p", token: "0a") { $0.environment = .production }, app: app)
                for count in [1, 0] {
                    let ended = try await first.endInstallations(
                        app: app, environment: .development,
                        tokens: [("0a", Sample.now), ("0b", Sample.now), ("0c", later)], event: Sample.event)
                    #expect(ended == count)
                }
                #expect(try await first.found(app) == ["b", "p"])
                let end = try await first.installation("a", app: app)?.installation.end
                #expect(end == Installation.End(at: Sample.now, reason: "feedback"))
                #expect(try await first.openEvents() == ["a"])
            }
        }

        @Test func `All servers have the first one's secret, and another store key is refused`() async throws {
            let location = try await TestServer.makeDatabase()
            let first = try await StoreKind.open(location)
            #expect(try await first.keep([1], as: "name") == [1])
            let second = try await StoreKind.open(location, identity: 2)
            #expect(try await second.keep([2], as: "name") == [1])
            for store in [first, second] { await store.close() }
            let error = await #expect(throws: StoreError.self) {
                _ = try await StoreKind.open(location, key: "b")
            }
            #expect(error?.code == .unreadable && error?.cause.contains("The store key is not the one") == true)
            // The secret itself is not in the database.
            let connection = PostgresConnection(location, name: "test")
            let kept = try await connection.execute(
                "SELECT value FROM carillon_provider.secret WHERE name = 'name'")
            #expect(try #require(kept.first?.bytes(0)).count > 16)
            await connection.close()
        }

        @Test func `A search that PostgreSQL cancels took too long`() async throws {
            let location = try await TestServer.makeDatabase()
            let store = try await StoreKind.open(location)
            let app = try await store.put(Sample.app()).number
            try await store.put(Sample.installation("a"), app: app)
            let connection = PostgresConnection(location, name: "test")
            // A search fails as after the time limit, without the time.
            let statements: [StaticString] = [
                "ALTER TABLE carillon_provider.installation RENAME TO kept",
                """
                CREATE FUNCTION carillon_provider.slow() RETURNS boolean LANGUAGE plpgsql AS
                'BEGIN RAISE EXCEPTION ''slow'' USING ERRCODE = ''57014''; END'
                """,
                """
                CREATE VIEW carillon_provider.installation AS
                SELECT * FROM carillon_provider.kept WHERE carillon_provider.slow()
                """,
            ]
            for statement in statements { _ = try await connection.execute(statement) }
            await connection.close()
            let error = await #expect(throws: StoreError.self) {
                _ = try await store.recipients(RecipientQuery(app: app, message: 0, audience: Audience()), limit: 1)
            }
            #expect(error == .tookTooLong)
            await store.close()
        }

        @Test func `The tables of a newer version are refused`() async throws {
            let location = try await TestServer.makeDatabase()
            try await StoreKind.open(location).close()
            let connection = PostgresConnection(location, name: "test")
            _ = try await connection.execute("UPDATE carillon_provider.schema_version SET newest = 900, oldest = 900")
            await connection.close()
            let error = await #expect(throws: StoreError.self) { _ = try await StoreKind.open(location) }
            #expect(error?.cause.contains("newer version of Carillon (schema 900)") == true)
        }

        @Test func `A database that may lose commits is refused`() async throws {
            let location = try await TestServer.makeDatabase()
            try await TestServer.set("synchronous_commit", to: "off", in: location)
            let error = await #expect(throws: StoreError.self) { _ = try await StoreKind.open(location) }
            #expect(error?.code == .unavailable && error?.cause.contains("synchronous_commit") == true)
        }
    }
#endif
