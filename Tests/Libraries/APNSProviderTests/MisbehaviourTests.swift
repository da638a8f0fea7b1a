import HTTP2
import ProviderTesting
import Testing

@testable import APNSProvider

/// Servers that misbehave while many requests are under way: each notification has an outcome within its deadline, and
/// none is sent again if it was answered or may have been accepted.
@Suite(.timeLimit(.minutes(2))) struct MisbehaviourTests {
    /// How often each notification arrived.
    private func times(_ server: ScriptedServer) -> [String: Int] {
        server.log.requests.reduce(into: [:]) { $0[$1.path, default: 0] += 1 }
    }

    /// Returns the outcomes of this many notifications. They are sent on a connection that is open and has shown a
    /// valid token.
    private func outcomes(
        of count: Int,
        _ client: ProviderClient,
        deadline: Duration = .seconds(30),
    ) async throws -> [PushOutcome<Push>] {
        try await client.accepts(1)
        var outcomes: [PushOutcome<Push>] = []
        // Use other device tokens than that of the first notification.
        let pushes = try Sample.pushes(count + 1).dropFirst()
        for await outcome in client.send(Array(pushes), deadline: deadline) { outcomes.append(outcome) }
        #expect(outcomes.count == count)
        return outcomes
    }

    private func errors(_ outcomes: [PushOutcome<Push>]) -> [ProviderError] {
        outcomes.compactMap { if case .failure(let error) = $0.result { error } else { nil } }
    }

    @Test func `A server that answers some and closes in the middle of another`() async throws {
        try await ScriptedServer.run(script: { request, connection in
            guard request.number > 0 else { return connection.answer(request.stream) }
            guard connection.open.count == 5 else { return }
            let open = connection.open
            connection.answer(open[0])
            connection.answer(open[1])
            connection.begin(open[2])
            // Close when everything that the client has sent has arrived.
            connection.afterRoundTrip { connection.close() }
        }) { server in
            try await server.withClient { client in
                let outcomes = try await outcomes(of: 5, client)
                let errors = errors(outcomes)
                #expect(errors.map(\.code) == [.connectionLost, .connectionLost, .connectionLost])
                #expect(errors.allSatisfy { $0.mayHaveBeenTaken })
                #expect(times(server).values.allSatisfy { $0 == 1 })
            }
        }
    }

    @Test(arguments: [HTTP2ErrorCode.internalError, .cancel, .protocolError, .noError, .enhanceYourCalm])
    func `A server that resets every stream`(_ code: HTTP2ErrorCode) async throws {
        try await ScriptedServer.run(script: { request, connection in
            request.number == 0 ? connection.answer(request.stream) : connection.reset(request.stream, code)
        }) { server in
            try await server.withClient { client in
                let errors = errors(try await outcomes(of: 10, client))
                #expect(errors.count == 10)
                #expect(errors.allSatisfy { $0.code == .gaveUp && $0.mayHaveBeenTaken })
                #expect(times(server).values.allSatisfy { $0 == 1 })
            }
        }
    }

    @Test func `A server that never answers many`() async throws {
        try await ScriptedServer.run(script: { request, connection in
            if request.number == 0 { connection.answer(request.stream) }
        }) { server in
            try await server.withClient { client in
                let errors = errors(try await outcomes(of: 10, client, deadline: .seconds(4)))
                #expect(errors.map(\.code) == Array(repeating: .deadlineExceeded, count: 10))
                #expect(errors.allSatisfy { $0.mayHaveBeenTaken })
                await server.log.cancelled(10)
                #expect(times(server).values.allSatisfy { $0 == 1 })
            }
        }
    }

    @Test func `A server that allows no streams any more`() async throws {
        try await ScriptedServer.run(script: { request, connection in
            connection.announce(0)
            connection.afterRoundTrip { connection.answer(request.stream) }
        }) { server in
            try await server.withClient({ $0.maximumConnections = 1 }) { client in
                let errors = errors(try await outcomes(of: 3, client, deadline: .seconds(1)))
                #expect(errors.map(\.cause) == Array(repeating: "The service allows no streams.", count: 3))
                #expect(errors.allSatisfy { $0.code == .deadlineExceeded && !$0.mayHaveBeenTaken })
                #expect(server.log.requests.count == 1)
            }
        }
    }

    @Test func `A server that answers each with HTML`() async throws {
        try await ScriptedServer.run(script: { request, connection in
            guard request.number > 0 else { return connection.answer(request.stream) }
            connection.answer(request.stream, status: 200, id: nil, body: "<html>Welcome</html>")
        }) { server in
            try await server.withClient { client in
                let errors = errors(try await outcomes(of: 10, client))
                #expect(errors.map(\.code) == Array(repeating: .unexpectedAnswer, count: 10))
                #expect(times(server).values.allSatisfy { $0 == 1 })
            }
        }
    }

    @Test(arguments: [nil, "", " "])
    func `A 200 without an identifier, or with an empty one, is not a push service's`(id: String?) async throws {
        try await ScriptedServer.run(script: { request, connection in
            guard request.number > 0 else { return connection.answer(request.stream) }
            connection.answer(request.stream, status: 200, id: id, body: nil)
        }) { server in
            try await server.withClient { client in
                let errors = errors(try await outcomes(of: 3, client))
                // HTTP/2 has no values that begin or end with a blank, so the session may refuse the stream.
                #expect(errors.count == 3 && errors.allSatisfy(\.mayHaveBeenTaken))
                if id != " " { #expect(errors.allSatisfy { $0.code == .unexpectedAnswer }) }
            }
        }
    }

    @Test(
        arguments: [502, 504], ["<html>Bad gateway</html>", String(repeating: "x", count: 20_000), #"{"reason":""}"#])
    func `A page of a server in between is tried again, and never called a rejection`(
        status: Int,
        body: String,
    ) async throws {
        try await ScriptedServer.run(script: { request, connection in
            guard (1...3).contains(request.number) else { return connection.answer(request.stream) }
            connection.answer(request.stream, status: status, id: nil, body: body)
        }) { server in
            try await server.withClient { client in
                let errors = errors(try await outcomes(of: 3, client))
                #expect(errors.isEmpty)
                #expect(client.trouble == nil)
            }
        }
        try await ScriptedServer.run(script: { request, connection in
            guard request.number > 0 else { return connection.answer(request.stream) }
            connection.answer(request.stream, status: status, id: nil, body: body)
        }) { server in
            try await server.withClient { client in
                let errors = errors(try await outcomes(of: 3, client, deadline: .seconds(2)))
                // On a slow machine the deadline may pass while an attempt is under way.
                #expect(errors.count == 3 && errors.allSatisfy { $0.rejection == nil })
                #expect(client.trouble?.cause.contains("status \(status)") == true)
            }
        }
    }

    @Test func `A server that goes away after every answer`() async throws {
        try await ScriptedServer.run(script: { request, connection in
            connection.answer(request.stream)
            connection.goAway(reason: "Shutdown")
        }) { server in
            try await server.withClient { client in
                let errors = errors(try await outcomes(of: 4, client))
                #expect(errors.isEmpty)
                #expect(times(server).values.sorted() == [1, 1, 1, 1, 1])
            }
        }
    }

    @Test func `A server that goes away from every request`() async throws {
        try await ScriptedServer.run(script: { request, connection in
            // GOAWAY says that no request was processed.
            connection.goAway(lastStream: StreamID.connection, reason: "Shutdown")
        }) { server in
            try await server.withClient { client in
                try await client.connect(within: .seconds(60))
                let (notification, token) = (try Sample.notification(), try Sample.deviceToken())
                let error = await failure { () throws(ProviderError) in
                    try await client.send(notification, to: token, deadline: .seconds(8))
                }
                #expect(error?.code == .gaveUp)
                #expect(error?.cause.contains("Shutdown") == true)
                #expect(error?.mayHaveBeenTaken == false)
                // Each notification is sent once on each connection, and not rapidly: the delays grow from a tenth of a
                // second.
                #expect(server.log.requests.count == Set(server.log.requests.map(\.connection)).count)
                #expect((2...12).contains(server.log.requests.count))
            }
        }
    }
}
