#if PostgreSQL
    import CommonTesting
    import Foundation
    import PostgresClient
    import PostgresTesting
    import Testing

    @testable import ServiceTesting

    /// `carillon node` and the log of a cluster, with two real services.
    @Suite(.timeLimit(.minutes(2))) struct NodeCommandTests {
        private static let key = String(repeating: "5a", count: 32)

        /// - Parameter url: the URL of the store; nil for a new database.
        private func withTwo(
            _ url: String? = nil,
            _ body: (_ one: CarillonProcess, _ two: CarillonProcess) async throws -> Void,
        ) async throws {
            let url = if let url { url } else { try await TestServer.makeURL() }
            try await withTemporaryFolder { folder in
                let keyFile = folder + "/store.key"
                try Self.key.write(toFile: keyFile, atomically: true, encoding: .utf8)
                func options(_ name: String) -> [String] {
                    [
                        "--store", url, "--store-key-file", keyFile, "--node-name", name, "--peer", "127.0.0.1:0",
                        "--log-level", "error",
                    ]
                }
                try await CarillonProcess.with(data: folder + "/one", options("one")) { one in
                    try await CarillonProcess.with(data: folder + "/two", options("two")) { two in
                        try await body(one, two)
                    }
                }
            }
        }

        @Test func `A node is listed and drained`() async throws {
            try await withTwo { one, two in
                let listed = try await one.carillon("node", "list")
                #expect(listed.status == 0, "\(listed.errors)")
                let lines = listed.output.split(separator: "\n")
                #expect(lines.count == 2 && lines.allSatisfy { $0.contains(#""state":"active""#) }, "\(lines)")
                #expect(
                    lines.first?.contains(#""name":"one""#) == true && lines.last?.contains(#""peer":"127."#) == true)
                // Each node does this for the others. The command ends when it is done.
                let drained = try await one.carillon("node", "drain", "two", "--over", "PT0.1S")
                #expect(drained.status == 0 && drained.output.contains(#""state":"drained""#), "\(drained.errors)")
                let missing = try await two.carillon("node", "drain", "three")
                #expect(missing.status == 1 && missing.errors.contains("no node three"), "\(missing.errors)")
            }
        }

        @Test func `A node that was killed is named by the log, and is removed when its lease has run out`()
            async throws
        {
            let url = try await TestServer.makeURL()
            try await withTwo(url) { one, two in
                let token = try await one.register("com.example.app", on: try await one.activate())
                let id = UUID().uuidString.lowercased()
                let sent = try await one.carillon(
                    "send", "--token", token, "--topic", "com.example.app", "--alert", "Hello", "--id", id)
                #expect(sent.status == 0, "\(sent.errors)")
                let running = try await one.carillon("node", "remove", "two")
                #expect(running.status == 1 && running.errors.contains("stop it first"), "\(running.errors)")
                _ = await two.stop(SIGKILL)
                let log = try await one.carillon("log", "--id", id)
                #expect(log.output.contains(id) && log.output.contains("stored"), "\(log.output)")
                #expect((log.output + log.errors).contains("two"), "\(log.output) \(log.errors)")
                let devices = try await one.carillon("device", "list")
                #expect(devices.status == 0 && devices.output.contains(token), "\(devices.errors)")
                #expect(devices.errors.contains("did not answer: two\n"), "\(devices.errors)")
                // Ends the lease at once, instead of after 15 seconds.
                let connection = PostgresConnection(try PostgresLocation(url), name: "test")
                _ = try await connection.execute(
                    "UPDATE carillon.node SET until = clock_timestamp() - interval '1 second' WHERE name = 'two'")
                await connection.close()
                // Without a lease it holds no devices, so nobody has to ask it.
                let complete = try await one.carillon("device", "list")
                #expect(complete.output == devices.output && complete.errors.isEmpty, "\(complete.errors)")
                let removed = try await one.carillon("node", "remove", "two")
                #expect(removed.status == 0, "\(removed.errors)")
                let left = try await one.carillon("node", "list").output
                #expect(left.contains("one") && !left.contains("two"), "\(left)")
            }
        }
    }
#endif
