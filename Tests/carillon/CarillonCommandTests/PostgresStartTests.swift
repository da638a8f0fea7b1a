#if PostgreSQL
    import CommonTesting
    import Foundation
    import PostgresTesting
    import Testing

    @testable import ServiceTesting

    /// `carillon serve` with a PostgreSQL store: which settings it accepts, and which it refuses with one line.
    @Suite(.timeLimit(.minutes(2))) struct PostgresStartTests {
        private static let key = String(repeating: "5a", count: 32)

        private func serve(
            data: String,
            _ arguments: [String],
            environment: [String: String] = [:],
        ) async throws -> ChildProcess.Finished {
            try await BuiltCommand.startInVain(
                ["serve", "--json", "--ports", "ephemeral", "--data", data] + arguments, environment: environment)
        }

        private func withKey(_ body: (_ folder: String, _ keyFile: String) async throws -> Void) async throws {
            try await withTemporaryFolder { folder in
                let keyFile = folder + "/store.key"
                try Self.key.write(toFile: keyFile, atomically: true, encoding: .utf8)
                try makePrivate(keyFile)
                try await body(folder, keyFile)
            }
        }

        /// Nobody else may read the key: otherwise the log has a warning.
        private func makePrivate(_ file: String) throws {
            try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: file)
        }

        @Test func `A service on a database has none in its folder`() async throws {
            let url = try await TestServer.makeURL()
            try await withKey { folder, keyFile in
                let data = folder + "/data"
                let options = ["--store", url, "--store-key-file", keyFile]
                try await CarillonProcess.with(data: data, options) { service in
                    let token = try await service.register("com.example.app", on: try await service.activate())
                    let sent = try await service.carillon(
                        "send", "--token", token, "--topic", "com.example.app", "--alert", "Hello")
                    #expect(sent.status == 0, "\(sent.errors)")
                    let names = try FileManager.default.contentsOfDirectory(atPath: data)
                    #expect(names.contains("node.json") && !names.contains { $0.contains("sqlite") || $0 == "secrets" })
                    // Another node with the same name is refused while this one runs, and leaves nothing behind.
                    let second = try await serve(data: folder + "/other", options)
                    expectOneLine(second, naming: "Another node has the name", "--node-name")
                    #expect(!FileManager.default.fileExists(atPath: folder + "/other"))
                    // A service that was killed starts again at once.
                    _ = await service.stop(SIGKILL)
                }
                try await CarillonProcess.with(data: data, options) { service in
                    #expect(await service.stop().status == 0)
                }
                // Without the store's settings, the folder is refused, although it has no database.
                expectOneLine(try await serve(data: data, []), naming: "belongs to a PostgreSQL store")
                let elsewhere = ["--store", try await TestServer.makeURL(), "--store-key-file", keyFile]
                expectOneLine(try await serve(data: data, elsewhere), naming: "another authority")
                // Another store key.
                try String(repeating: "00", count: 32).write(toFile: keyFile, atomically: true, encoding: .utf8)
                try makePrivate(keyFile)
                expectOneLine(try await serve(data: data, options), naming: "The store key is not the one")
            }
        }

        @Test func `The URL can come from the environment`() async throws {
            let url = try await TestServer.makeURL()
            try await withKey { folder, keyFile in
                let environment = ["CARILLON_STORE": url + "&password=Secret123", "CARILLON_STORE_KEY_FILE": keyFile]
                try await CarillonProcess.with(data: folder + "/data", environment: environment) { service in
                    let finished = await service.stop()
                    #expect(finished.status == 0)
                    #expect(!(finished.output + finished.errors).contains("Secret123"))
                }
            }
        }

        @Test(arguments: [
            "postgresql://carillon:Secret123@127.0.0.1/carillon", "postgresql://127.0.0.1/carillon?password=Secret123",
            "postgres://127.0.0.1/carillon?sslpassword=Secret123",
        ])
        func `A password among the arguments`(_ url: String) async throws {
            try await withKey { folder, keyFile in
                let finished = try await serve(
                    data: folder + "/data", ["--store", url, "--store-key-file", keyFile])
                expectOneLine(finished, naming: "password", "CARILLON_STORE")
            }
        }

        @Test(arguments: [
            ("postgresql://carillon:Secret123@127.0.0.1:1/carillon?connect_timeout=2", "127.0.0.1:1/carillon"),
            ("postgresql://carillon:Secret123@[::1/carillon", "cannot be read"),
            ("host=127.0.0.1 password=Secret123", "takes sqlite, memory, or a URL"),
        ])
        func `A store that is none shows no password`(_ store: String, _ words: String) async throws {
            try await withKey { folder, keyFile in
                let finished = try await serve(
                    data: folder + "/data", ["--store-key-file", keyFile], environment: ["CARILLON_STORE": store])
                expectOneLine(finished, naming: words)
                #expect(!FileManager.default.fileExists(atPath: folder + "/data"))
            }
        }

        @Test func `A store key that is missing or no key`() async throws {
            let store = ["--store", "postgresql://127.0.0.1:1/carillon"]
            try await withKey { folder, keyFile in
                let data = folder + "/data"
                expectOneLine(try await serve(data: data, store), naming: "--store-key-file")
                let missing = store + ["--store-key-file", folder + "/none"]
                expectOneLine(try await serve(data: data, missing), naming: folder + "/none", "No such file")
                try "Secret123".write(toFile: keyFile, atomically: true, encoding: .utf8)
                try makePrivate(keyFile)
                let bad = store + ["--store-key-file", keyFile]
                expectOneLine(try await serve(data: data, bad), naming: "64 hexadecimal digits")
            }
        }

        @Test(arguments: [
            (["--node-name", "one"], "node-name", "PostgreSQL store"),
            (["--peer", "127.0.0.1:0"], "peer", "PostgreSQL store"),
            (["--peer", "somewhere"], "peer", "ADDRESS:PORT"),
            (["--store", "postgresql://127.0.0.1:1/carillon", "--peer", "0.0.0.0:0"], "0.0.0.0", "peer-address"),
            (
                ["--store", "postgresql://127.0.0.1:1/carillon", "--peer-address", "192.0.2.1:4000"], "peer-address",
                "needs the setting peer"
            ),
        ])
        func `The settings of a node`(_ options: [String], _ setting: String, _ words: String) async throws {
            try await withKey { folder, keyFile in
                let finished = try await serve(data: folder + "/data", options + ["--store-key-file", keyFile])
                expectOneLine(finished, naming: setting, words)
                #expect(!FileManager.default.fileExists(atPath: folder + "/data"))
            }
        }

        @Test func `A virtual clock`() async throws {
            try await withKey { folder, keyFile in
                let finished = try await serve(
                    data: folder + "/data",
                    ["--store", "postgresql://127.0.0.1:1/carillon", "--store-key-file", keyFile, "--clock", "virtual"])
                expectOneLine(finished, naming: "clock is virtual")
            }
        }
    }
#endif
