import ProviderTesting
import Synchronization
import Testing

@testable import APNSProvider

/// The number of streams that the service announces and changes (Guide, 2.3.3: "do not assume a specific number of
/// streams"), over real TLS.
@Suite(.timeLimit(.minutes(2))) struct StreamLimitTests {
    private enum Phase {
        /// The first request is under way, which shows that the provider token is valid.
        case first
        /// All allowed streams are open.
        case full
        /// The service allows one stream, and more are open.
        case fallen
        /// The service allows one stream, and one is open.
        case single
        /// The service allows six streams.
        case risen
        case free
    }

    @Test func `It is kept when it falls and rises while requests are under way`() async throws {
        var options = ScriptedServer.Options()
        options.streams = 4
        let phase = Mutex(Phase.first)
        try await ScriptedServer.run(
            options,
            script: { request, connection in
                switch phase.withLock({ $0 }) {
                case .first:
                    phase.withLock { $0 = .full }
                    connection.answer(request.stream)
                case .full:
                    guard connection.open.count == 4 else { return }
                    phase.withLock { $0 = .fallen }
                    connection.announce(1)
                    Self.answerAllButOne(connection) { phase.withLock { $0 = .single } }
                case .fallen:
                    Issue.record("a new stream while more are open than are allowed")
                case .single:
                    connection.afterRoundTrip {
                        Self.expect(1, on: connection)
                        guard request.number >= 10 else { return connection.answer(request.stream) }
                        phase.withLock { $0 = .risen }
                        connection.announce(6)
                    }
                case .risen:
                    guard connection.open.count == 6 else { return }
                    connection.afterRoundTrip {
                        Self.expect(6, on: connection)
                        phase.withLock { $0 = .free }
                        for stream in connection.open { connection.answer(stream) }
                    }
                case .free:
                    connection.answer(request.stream)
                }
            }
        ) { server in
            try await server.withClient({ $0.maximumConnections = 1 }) { client in
                try await client.accepts(40)
                // No request was refused because there were too many streams, and sent again.
                #expect(server.log.requests.count == 40)
                #expect(server.log.greatestOpen(on: 0) == 6)
            }
        }
    }

    @Test func `Without streams requests wait for the next announcement`() async throws {
        try await ScriptedServer.run(script: { request, connection in
            guard request.number == 0 else { return connection.answer(request.stream) }
            connection.announce(0)
            connection.afterRoundTrip {
                connection.answer(request.stream)
                // The client has sent no request meanwhile, although it has more notifications.
                connection.afterRoundTrip {
                    Self.expect(0, on: connection)
                    // Allow enough streams for all, so that no other connection is needed.
                    connection.announce(20)
                }
            }
        }) { server in
            try await server.withClient { client in
                try await client.accepts(10)
                #expect(server.log.requests.count == 10)
                #expect(server.log.connections == 1)
            }
        }
    }

    /// Answers all but one request when the client knows the new limit, and then the last one.
    private static func answerAllButOne(_ connection: ScriptedConnection, _ then: @escaping () -> Void) {
        connection.afterRoundTrip {
            for stream in connection.open.dropLast() { connection.answer(stream) }
            connection.afterRoundTrip {
                expect(1, on: connection)
                then()
                for stream in connection.open { connection.answer(stream) }
            }
        }
    }

    private static func expect(_ count: Int, on connection: ScriptedConnection) {
        let open = connection.open.count
        if open != count { Issue.record("\(open) streams are open, not \(count)") }
    }
}
