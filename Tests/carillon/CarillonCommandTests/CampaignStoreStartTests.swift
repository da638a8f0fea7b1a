#if PostgreSQL
    import CommonTesting
    import Foundation
    import PostgresTesting
    import Testing

    @testable import ServiceTesting

    /// `carillon provider serve` with a PostgreSQL store: which settings it refuses, and why.
    @Suite(.timeLimit(.minutes(2))) struct CampaignStoreStartTests {
        private func serve(
            _ data: String,
            _ arguments: [String],
            environment: [String: String] = [:],
        ) async throws -> ChildProcess.Finished {
            try await BuiltCommand.startInVain(
                ["provider", "serve", "--json", "--listen", "127.0.0.1:0", "--data", data] + arguments,
                environment: environment)
        }

        private func makeKey(_ path: String, _ digit: String = "c") throws -> String {
            try String(repeating: digit, count: 64).write(toFile: path, atomically: true, encoding: .utf8)
            return path
        }

        @Test func `A store that cannot be used ends the start with its reason, and without the password`() async throws
        {
            try await withTemporaryFolder { folder in
                let key = try makeKey(folder + "/key")
                let data = folder + "/data"
                let url = "postgresql://carillon:Secret123@127.0.0.1:1/push?connect_timeout=2"
                let refused: [(arguments: [String], environment: [String: String], reason: String)] = [
                    (["--store", url, "--store-key-file", key], [:], "everybody on this machine can read"),
                    (["--store", "postgresql://127.0.0.1:1/push"], [:], "--store-key-file"),
                    (["--store", "memory"], [:], "sqlite"),
                    (["--store", "mysql://x"], [:], "sqlite"),
                    (["--store-key-file", key], ["CARILLON_PROVIDER_STORE": url], "127.0.0.1:1/push cannot be used"),
                    (
                        [], ["CARILLON_PROVIDER_STORE": url, "CARILLON_PROVIDER_STORE_KEY_FILE": folder + "/none"],
                        "cannot be read"
                    ),
                ]
                for (arguments, environment, reason) in refused {
                    let finished = try await serve(data, arguments, environment: environment)
                    #expect(finished.status != 0 && finished.status < 128, "\(arguments): \(finished.errors)")
                    #expect(finished.errors.contains(reason), "\(arguments): \(finished.errors)")
                    #expect(!finished.errors.contains("Secret123") && finished.output.isEmpty)
                }
            }
        }

        @Test func `A server on a database has none in its folder, and needs the same store key`() async throws {
            let url = try await TestServer.makeURL()
            try await withTemporaryFolder { folder in
                let data = folder + "/data"
                let first = try await serve(data, ["--store", url, "--store-key-file", try makeKey(folder + "/key")])
                #expect(first.status == 0, "\(first.errors)")
                let names = try FileManager.default.contentsOfDirectory(atPath: data)
                #expect(names.contains("provider.key") && names.contains("server.identity"))
                #expect(!names.contains("provider.sqlite") && !names.contains("credentials.key"))
                let other = try await serve(
                    folder + "/other", ["--store", url, "--store-key-file", try makeKey(folder + "/wrong", "d")])
                #expect(other.status != 0 && other.errors.contains("The store key is not the one"))
            }
        }
    }
#endif
