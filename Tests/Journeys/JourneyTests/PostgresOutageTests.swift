#if PostgreSQL
    import CommonTesting
    import Delivery
    import Foundation
    import PostgresClient
    import PostgresTesting
    import Synchronization
    import Testing

    @testable import Service
    @testable import ServiceTesting

    /// A service whose store is a PostgreSQL database, over real TLS.
    @Suite(.timeLimit(.minutes(2)))
    struct PostgresOutageTests {
        /// A database with its store key, which several services use one after the other.
        private struct Place {
            let location: PostgresLocation
            let keyFile: String

            func settings(_ settings: inout Settings) {
                settings.store = .postgresql(location)
                settings.storeKeyFile = keyFile
                // How late a node may store has tests of its own (decision 0071).
                settings.delivery.promptStoring = .seconds(60)
            }
        }

        private func withPlace(_ url: String, _ body: (Place) async throws -> Void) async throws {
            let file = FileManager.default.temporaryDirectory.appendingPathComponent(
                "key-\(UUID().uuidString.prefix(8))")
            defer { try? FileManager.default.removeItem(at: file) }
            try Data((String(repeating: "5a", count: 32) + "\n").utf8).write(to: file)
            try await body(Place(location: try PostgresLocation(url), keyFile: file.path))
        }

        private func headers(_ method: String, _ path: String) -> [(String, String)] {
            [(":method", method), (":scheme", "https"), (":authority", "localhost"), (":path", path)]
        }

        private func push(_ token: String, _ test: TestService) async throws -> (status: Int?, body: String) {
            let client = try await test.connectProvider()
            let answer = try await client.send(ProviderHeaders(token, token: try test.providerToken()).fields)
            await client.close()
            return (answer.status, answer.body)
        }

        /// A device that is not connected, and its token for the app.
        private struct OfflineDevice {
            let certificate: ClientCertificate
            let token: String
        }

        private func makeDevice(_ test: TestService) async throws -> OfflineDevice {
            let certificate = try await test.makeDeviceCertificate()
            let device = try await test.connectCourier(certificate)
            let answer = try await device.send(headers("PUT", "/1/apps/com.example.app"), body: "")
            let token = try required(answer.body.split(separator: "\"").dropFirst(3).first.map(String.init))
            await device.close()
            return OfflineDevice(certificate: certificate, token: token)
        }

        /// Connects the device until it gets what was sent to it: a stream that opens while the store recovers ends again.
        private func receive(by offline: OfflineDevice, _ test: TestService) async throws {
            try await wait(while: try await firstLine(for: offline, test)?.contains("Hello") != true)
        }

        private func firstLine(for offline: OfflineDevice, _ test: TestService) async throws -> String? {
            let device = try await test.connectCourier(offline.certificate)
            let stream = try await device.open(headers("GET", "/1/notifications"), endStream: true)
            let line = try await stream.nextLine()
            await device.close()
            return line
        }

        /// Whether `/ready` answers 503 and names this cause.
        private func isUnready(_ cause: String, _ test: TestService) async throws -> Bool {
            let ready = try await test.ask("GET", "/ready")
            return ready.status == 503 && ready.text.contains(cause)
        }

        @Test func `A stored notification reaches the device after a restart with another data folder`() async throws {
            try await withPlace(try await TestServer.makeURL()) { place in
                var kept: OfflineDevice?
                try await TestService.run(place.settings) { test in
                    let device = try await makeDevice(test)
                    #expect(try await push(device.token, test).status == 200)
                    kept = device
                }
                let known = try required(kept)
                // The secrets are in the database, so certificates and tokens stay valid.
                try await TestService.run(place.settings) { test in
                    let device = try await test.connectCourier(known.certificate)
                    let answer = try await device.send(headers("PUT", "/1/apps/com.example.app"), body: "")
                    #expect(answer.body.contains(known.token))
                    let stream = try await device.open(headers("GET", "/1/notifications"), endStream: true)
                    #expect(try await stream.nextLine()?.contains("Hello") == true)
                    await device.close()
                    let ready = try await test.ask("GET", "/ready")
                    #expect(ready.status == 200)
                }
            }
        }

        @Test func `While PostgreSQL is gone nothing is accepted, and afterwards the service recovers by itself`()
            async throws
        {
            try await TestServer.withOwn { server in
                try await withPlace(try await server.makeURL()) { place in
                    try await TestService.run(place.settings) { test in
                        let token = try await test.makeDeviceToken()
                        #expect(try await push(token, test).status == 200)
                        try await server.crash()
                        let refused = try await push(token, test)
                        #expect(refused.status == 503 && refused.body.contains("ServiceUnavailable"))
                        let ready = try await test.ask("GET", "/ready")
                        #expect(ready.status == 503 && ready.text.contains("PostgreSQL cannot be reached"))
                        try await server.start()
                        try await wait(while: try await push(token, test).status != 200)
                        try await wait(while: try await test.ask("GET", "/ready").status != 200)
                    }
                }
            }
        }

        @Test func `While PostgreSQL is read-only or full nothing is accepted`() async throws {
            try await withPlace(try await TestServer.makeURL()) { place in
                try await TestService.run(place.settings) { test in
                    let token = try await test.makeDeviceToken()
                    #expect(try await push(token, test).status == 200)

                    try await TestServer.set("default_transaction_read_only", to: "on", in: place.location)
                    try await wait(while: try await push(token, test).status != 503)
                    try await wait(while: try await test.ask("GET", "/ready").text.contains("is read-only") != true)
                    try await TestServer.set("default_transaction_read_only", to: "off", in: place.location)
                    try await wait(while: try await push(token, test).status != 200)

                    let connection = PostgresConnection(place.location, name: "test")
                    try await fill(connection)
                    #expect(try await push(token, test).status == 503)
                    #expect(try await test.ask("GET", "/ready").text.contains("disk of PostgreSQL is full"))
                    _ = try await connection.execute("DROP TRIGGER full_disk ON carillon.destination")
                    #expect(try await push(token, test).status == 200)
                    try await wait(while: try await test.ask("GET", "/ready").status != 200)
                    await connection.close()
                }
            }
        }

        @Test func `While the synchronous standby is gone nothing is accepted, and nothing is lost`() async throws {
            try await TestServer.withOwn { server in
                try await withPlace(try await server.makeURL()) { place in
                    let opened = Mutex<(any Store)?>(nil)
                    let wrap = { @Sendable (store: any Store) -> any Store in
                        opened.withLock { $0 = store }
                        return store
                    }
                    try await TestService.runWrapping(wrap, place.settings) { test in
                        let store = try required(opened.withLock { $0 })
                        // Only after five seconds: before, the answer waits behind the change that hangs.
                        func namesTheStall() async throws -> Bool {
                            guard let longest = store.cluster?.health.longestWait, longest > .seconds(5) else {
                                return false
                            }
                            return try await isUnready("has not confirmed a change", test)
                        }
                        let (before, during) = (try await makeDevice(test), try await makeDevice(test))
                        let token = during.token
                        #expect(try await push(before.token, test).status == 200)

                        // Commits wait for a standby that never comes.
                        try await server.set("synchronous_standby_names", to: "missing")
                        async let waiting = push(token, test)
                        try await wait(while: try await !namesTheStall())
                        // After half a minute the node no longer trusts its accounts.
                        try await wait(while: store.isCurrent)
                        #expect(try await push(before.token, test).status == 503)
                        #expect(try await test.ask("GET", "/ready").status == 503)

                        try await server.set("synchronous_standby_names", to: "")
                        // The push that waited may have been stored in the first attempt.
                        let late = try await waiting
                        #expect(late.status == 200 || late.status == 503, "\(late)")
                        try await wait(while: try await push(token, test).status != 200)
                        try await wait(while: try await test.ask("GET", "/ready").status != 200)
                        for device in [before, during] { try await receive(by: device, test) }
                    }
                }
            }
        }

        @Test func `While PostgreSQL has no connections left nothing is accepted, and nothing is lost`() async throws {
            try await TestServer.withOwn { server in
                // The limit does not hold for a superuser.
                try await withPlace(try await server.makeURL(for: "service")) { place in
                    try await TestService.run(place.settings) { test in
                        let (before, during) = (try await makeDevice(test), try await makeDevice(test))
                        #expect(try await push(before.token, test).status == 200)

                        // One of the node's connections is left, perhaps the one for the lease. That is not enough.
                        try await server.limitConnections(of: "service", to: 1)
                        try await wait(while: try await push(during.token, test).status != 503)
                        try await wait(while: try await !isUnready("too many connections", test))

                        try await server.limitConnections(of: "service", to: -1)
                        try await wait(while: try await push(during.token, test).status != 200)
                        try await wait(while: try await test.ask("GET", "/ready").status != 200)
                        for device in [before, during] { try await receive(by: device, test) }
                    }
                }
            }
        }

        /// Makes every change of a registration fail as if the disk were full.
        private func fill(_ connection: PostgresConnection) async throws {
            _ = try await connection.execute(
                """
                CREATE FUNCTION full_disk() RETURNS trigger LANGUAGE plpgsql AS
                $$ BEGIN RAISE EXCEPTION 'could not extend file: No space left on device' USING ERRCODE = '53100'; END $$
                """)
            _ = try await connection.execute(
                """
                CREATE TRIGGER full_disk BEFORE INSERT OR UPDATE ON carillon.destination
                FOR EACH ROW EXECUTE FUNCTION full_disk()
                """)
        }
    }
#endif
