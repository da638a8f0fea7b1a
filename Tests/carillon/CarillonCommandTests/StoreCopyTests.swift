#if PostgreSQL
    import CommonTesting
    import Foundation
    import PostgresTesting
    import Service
    import Testing

    @testable import ServiceTesting

    /// `carillon store copy`, between a real SQLite database and a real PostgreSQL database.
    @Suite(.timeLimit(.minutes(2))) struct StoreCopyTests {
        private static let key = String(repeating: "5a", count: 32)

        /// Where a service keeps its data: an embedded store, or a database.
        private struct Place {
            let store: String
            let folder: String
            let options: [String]

            static func embedded(_ folder: String) -> Place {
                Place(store: "sqlite:" + folder, folder: folder, options: [])
            }
        }

        private func withPlaces(_ body: (_ embedded: Place, _ database: Place) async throws -> Void) async throws {
            let url = try await TestServer.makeURL()
            try await withTemporaryFolder { folder in
                let keyFile = folder + "/store.key"
                try Self.key.write(toFile: keyFile, atomically: true, encoding: .utf8)
                let database = Place(
                    store: url, folder: folder + "/node", options: ["--store", url, "--store-key-file", keyFile])
                try await body(.embedded(folder + "/data"), database)
            }
        }

        private func copy(_ source: Place, to target: Place) async throws -> ChildProcess.Finished {
            let keyFile = (source.options + target.options).last ?? ""
            return try await BuiltCommand.run(
                ["store", "copy", "--json", "--from", source.store, "--to", target.store, "--store-key-file", keyFile])
        }

        /// A device with a notification in its mailbox, and what authorises a provider.
        private struct Kept {
            var identity = ""
            var token = ""
            var key: [String] = []
        }

        /// Has a service store a notification for a device that is not connected.
        private func fill(_ place: Place) async throws -> Kept {
            var kept = Kept()
            try await CarillonProcess.with(data: place.folder, place.options) { service in
                kept.identity = try await service.activate()
                kept.token = try await service.register("com.example.app", on: kept.identity)
                let key = try service.developmentKey
                kept.key = ["--key-file", key.path, "--key-id", key.keyID, "--team-id", key.teamID]
                try await send("Before", kept, service)
                #expect(await service.stop().status == 0)
            }
            return kept
        }

        private func send(_ text: String, _ kept: Kept, _ service: CarillonProcess) async throws {
            let sent = try await BuiltCommand.run(
                [
                    "send", "--data", service.data, "--json", "--token", kept.token, "--topic", "com.example.app",
                    "--alert", text,
                ] + kept.key)
            #expect(sent.status == 0, "\(sent.errors)")
        }

        /// What was stored arrives, the old token and the old certificate are valid, and new notifications follow.
        private func check(_ kept: Kept, at place: Place) async throws {
            try await CarillonProcess.with(data: place.folder, place.options) { service in
                let arguments = service.arguments(
                    "device", "listen", "--identity", kept.identity, "--bundle-id", "com.example.app")
                try await ChildProcess.with(BuiltCommand.path, arguments) { device in
                    let registered = await device.output.nextLine() ?? ""
                    #expect(registered.contains(kept.token))
                    let first = await device.output.nextLine() ?? ""
                    #expect(first.contains("Before"))
                    try await send("After", kept, service)
                    let second = await device.output.nextLine() ?? ""
                    #expect(second.contains("After"))
                    device.signal(SIGTERM)
                    _ = await device.finished()
                }
                #expect(await service.stop().status == 0)
            }
        }

        @Test func `Into a database`() async throws {
            try await withPlaces { embedded, database in
                let kept = try await fill(embedded)
                let copied = try await copy(embedded, to: database)
                #expect(copied.status == 0, "\(copied.errors)")
                let counts = try copied.object
                for (kind, count) in ["registrations": 1, "notifications": 1, "teams": 1, "apps": 1, "keys": 1] {
                    #expect(counts[kind]?.number == Double(count), "\(kind)")
                }
                try await check(kept, at: database)
            }
        }

        @Test func `Out of a database`() async throws {
            try await withPlaces { embedded, database in
                let kept = try await fill(database)
                let copied = try await copy(database, to: embedded)
                #expect(copied.status == 0, "\(copied.errors)")
                #expect(try copied.object["notifications"]?.number == 1)
                try await check(kept, at: embedded)
            }
        }

        @Test func `A store in use`() async throws {
            try await withPlaces { embedded, database in
                try await CarillonProcess.with(data: database.folder, database.options) { _ in
                    expectOneLine(try await copy(database, to: embedded), 1...1, naming: "uses it", "stop all nodes")
                }
                try await CarillonProcess.with(data: embedded.folder) { _ in
                    expectOneLine(try await copy(embedded, to: database), 1...1, naming: "already runs")
                }
            }
        }

        @Test func `A target that is not empty`() async throws {
            try await withPlaces { embedded, database in
                _ = try await fill(embedded)
                try await CarillonProcess.with(data: database.folder, database.options) { service in
                    #expect(await service.stop().status == 0)
                }
                expectOneLine(try await copy(embedded, to: database), 1...1, naming: "not empty")
                expectOneLine(try await copy(database, to: embedded), 1...1, naming: "not empty")
            }
        }

        @Test(arguments: [
            ("postgresql://carillon:Secret123@127.0.0.1/carillon", "password file"),
            ("mysql://carillon:Secret123@127.0.0.1/carillon", "A store is sqlite:"), ("sqlite:", "After sqlite:"),
        ])
        func `Something that is no store`(_ store: String, _ words: String) async throws {
            let bad = Place(store: store, folder: "", options: [])
            try await withPlaces { embedded, _ in
                expectOneLine(try await copy(bad, to: embedded), 1...1, naming: words)
                expectOneLine(try await copy(embedded, to: bad), 1...1, naming: words)
                #expect(!FileManager.default.fileExists(atPath: embedded.folder))
            }
        }

        @Test func `A source that is not there`() async throws {
            try await withPlaces { embedded, database in
                expectOneLine(try await copy(embedded, to: database), 1...1, naming: "holds no embedded store")
                expectOneLine(try await copy(database, to: embedded), 1...1, naming: "holds no service's data")
            }
        }
    }
#endif
