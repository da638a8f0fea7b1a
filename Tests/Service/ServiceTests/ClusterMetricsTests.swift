#if PostgreSQL
    import CommonTesting
    import Foundation
    import PostgresClient
    import PostgresTesting
    import Testing

    @testable import Service
    @testable import ServiceTesting

    /// The metrics of a cluster's node, over the management API (docs/metrics.md).
    @Suite(.timeLimit(.minutes(2)))
    struct ClusterMetricsTests {
        /// Reads a metric of the page; nil if the page does not have it.
        private func value(_ series: String, of service: TestService) async throws -> Double? {
            let page = String(decoding: try await service.manage("GET", "/metrics").body, as: UTF8.self)
            let line = page.split(separator: "\n").first { $0.hasPrefix(series + " ") }
            return line.flatMap { Double($0.dropFirst(series.count + 1)) }
        }

        /// Reads a metric until it has a value.
        private func waitForMetric(
            _ series: String,
            of service: TestService,
            until isRight: (Double) -> Bool,
        ) async throws {
            try await wait(while: !isRight(try required(try await value(series, of: service))))
        }

        @Test(.startsPrograms) func `The lease and the connections to PostgreSQL are shown, and their loss`()
            async throws
        {
            let file = FileManager.default.temporaryDirectory.appendingPathComponent(
                "key-\(UUID().uuidString.prefix(8))")
            defer { try? FileManager.default.removeItem(at: file) }
            try Data(String(repeating: "5a", count: 32).utf8).write(to: file)
            try await TestServer.withOwn { server in
                let location = try PostgresLocation(try await server.makeURL())
                try await TestService.run {
                    $0.store = .postgresql(location)
                    $0.storeKeyFile = file.path
                } _: { node in
                    try await waitForMetric(#"carillon_store_connections{state="lost"}"#, of: node) { $0 == 0 }
                    try await waitForMetric(#"carillon_store_connections{state="open"}"#, of: node) { $0 == 7 }
                    try await waitForMetric("carillon_lease_remaining_seconds", of: node) { $0 > 0 }
                    #expect(try await value("carillon_leases_lost_total", of: node) == 0)
                    try await server.crash()
                    try await waitForMetric(#"carillon_store_connections{state="lost"}"#, of: node) { $0 > 0 }
                    try await waitForMetric("carillon_lease_remaining_seconds", of: node) { $0 == 0 }
                    try await server.start()
                    try await waitForMetric(#"carillon_store_connections{state="lost"}"#, of: node) { $0 == 0 }
                    try await waitForMetric("carillon_lease_remaining_seconds", of: node) { $0 > 0 }
                    #expect(try required(try await value("carillon_leases_lost_total", of: node)) >= 1)
                }
            }
        }

        @Test(.startsPrograms) func `The other nodes are shown as connected, or as missing if they cannot be reached`()
            async throws
        {
            try await TwoServices.runConnected { one, two in
                for node in [one, two] {
                    try await waitForMetric(#"carillon_peers{state="connected"}"#, of: node) { $0 == 1 }
                    try await waitForMetric(#"carillon_peers{state="missing"}"#, of: node) { $0 == 0 }
                }
            }
            try await TwoServices.run {
                // Nobody listens at this address, so the nodes never connect.
                ($0.peer, $0.peerAddress) = (
                    ListenAddress(host: "127.0.0.1", port: 0), ListenAddress(host: "127.0.0.1", port: 1)
                )
            } _: { one, two in
                for node in [one, two] {
                    try await waitForMetric(#"carillon_peers{state="missing"}"#, of: node) { $0 == 1 }
                    #expect(try await value(#"carillon_peers{state="connected"}"#, of: node) == 0)
                }
            }
        }

        @Test func `A service with its own store has no metrics of a cluster`() async throws {
            try await TestService.run { service in
                for series in ["carillon_lease_remaining_seconds", #"carillon_peers{state="connected"}"#] {
                    let shown = try await value(series, of: service)
                    #expect(shown == nil)
                }
            }
        }
    }
#endif
