import CoreMetrics
import HTTP2
import InMemoryLogging
import InMemoryTracing
import Logging
import MetricsTestKit
import ProviderTesting
import Testing
import Tracing

@testable import APNSProvider

/// Metrics, spans and log records.
@Suite(.timeLimit(.minutes(1))) struct ObservationTests {
    @Test func `Outcomes are counted`() async throws {
        try await ScriptedServer.run(script: { request, connection in
            switch request.number {
            case 1: connection.answer(request.stream, status: 400, reason: "BadTopic")
            case 2: connection.reset(request.stream, .internalError)
            case 3: connection.answer(request.stream, status: 429, reason: "TooManyRequests")
            default: connection.answer(request.stream)
            }
        }) { server in
            let metrics = TestMetrics()
            var internals = ProviderClient.Internals()
            internals.metrics = ProviderMetrics(factory: metrics)
            try await server.withClient(internals: internals) { client in
                let (notification, token) = (try Sample.notification(), try Sample.deviceToken())
                for _ in 0..<4 {
                    _ = await failure { () throws(ProviderError) in try await client.send(notification, to: token) }
                }
            }
            func total(_ name: String) throws -> Int64 {
                try metrics.expectCounter("apns_provider_\(name)_total").totalValue
            }
            let totals = try ["accepted", "rejected", "failed", "retried"].map(total)
            #expect(totals == [2, 1, 1, 1])
            let connections = try metrics.expectRecorder("apns_provider_connections").values
            #expect(connections.first == 1)
            let durations = try metrics.expectTimer("apns_provider_send_seconds").values
            #expect(durations.count == 4)
        }
    }

    @Test func `A notification is a span`() async throws {
        try await ScriptedServer.run(script: { request, connection in
            request.number == 0
                ? connection.answer(request.stream)
                : connection.answer(request.stream, status: 400, reason: "BadTopic")
        }) { server in
            let tracer = InMemoryTracer()
            var internals = ProviderClient.Internals()
            internals.tracer = tracer
            try await server.withClient(internals: internals) { client in
                let (notification, token) = (try Sample.notification(), try Sample.deviceToken())
                for _ in 0..<2 {
                    _ = await failure { () throws(ProviderError) in try await client.send(notification, to: token) }
                }
            }
            let spans = tracer.finishedSpans
            #expect(spans.map(\.operationName) == ["apns.send", "apns.send"])
            #expect(spans.map(\.kind) == [.client, .client])
            #expect(spans.map { $0.status?.message } == [nil, "BadTopic"])
        }
    }

    // MARK: Many

    @Test func `Each of a bulk call is a span with a duration`() async throws {
        try await ScriptedServer.run(script: { request, connection in
            request.path.hasSuffix("02")
                ? connection.answer(request.stream, status: 400, reason: "BadTopic")
                : connection.answer(request.stream)
        }) { server in
            let (tracer, metrics) = (InMemoryTracer(), TestMetrics())
            var internals = ProviderClient.Internals()
            internals.tracer = tracer
            internals.metrics = ProviderMetrics(factory: metrics)
            try await server.withClient(internals: internals) { client in
                let pushes = try Sample.pushes(3)
                await tracer.withSpan("campaign") { _ in
                    for await _ in client.send(pushes) {}
                }
            }
            let spans = tracer.finishedSpans
            let campaign = try #require(spans.first { $0.operationName == "campaign" })
            let sent = spans.filter { $0.operationName == "apns.send" }
            #expect(sent.map(\.kind) == [.client, .client, .client])
            #expect(sent.allSatisfy { $0.parentSpanID == campaign.spanID })
            #expect(sent.compactMap { $0.status?.message } == ["BadTopic"])
            #expect(try metrics.expectTimer("apns_provider_send_seconds").values.count == 3)
        }
    }

    @Test func `What is cancelled in a bulk call ends its span`() async throws {
        try await ScriptedServer.run(script: { _, _ in }) { server in
            let tracer = InMemoryTracer()
            var internals = ProviderClient.Internals()
            internals.tracer = tracer
            try await server.withClient(internals: internals) { client in
                let pushes = try Sample.pushes(1)
                let reading = Task { for await _ in client.send(pushes) {} }
                await server.log.requests(1)
                reading.cancel()
                await reading.value
                await server.log.cancelled(1)
            }
            #expect(tracer.finishedSpans.map { $0.status?.message } == ["cancelled"])
            #expect(tracer.activeSpans.isEmpty)
        }
    }

    // MARK: The log

    /// The log's entries about the end of a connection that gets GOAWAY after its first answer.
    private func endLogged(
        after goAway: @escaping @Sendable (ScriptedConnection) -> Void
    ) async throws -> [InMemoryLogHandler.Entry] {
        let log = InMemoryLogHandler()
        try await ScriptedServer.run(script: { request, connection in
            connection.answer(request.stream)
            if request.connection == 0 { goAway(connection) }
        }) { server in
            try await server.withClient(logger: Logger(label: "test") { _ in log }) { client in
                try await client.accepts(1)
                // The second request uses another connection, so the client has noticed the end of the first.
                await server.log.closed(1)
                try await client.accepts(1)
                #expect(server.log.connections == 2)
            }
        }
        return log.entries.filter { $0.message == "The service ends a connection" }
    }

    @Test func `The reason of a GOAWAY reaches the log`() async throws {
        let ends = try await endLogged { $0.goAway(reason: "IdleTimeout") }
        #expect(ends.map(\.level) == [.info])
        #expect(ends.map(\.metadata) == [["reason": "IdleTimeout", "code": "NO_ERROR"]])
    }

    @Test func `What is no JSON in a GOAWAY is logged as text`() async throws {
        let ends = try await endLogged { $0.goAway(debugData: "too_many_pings") }
        #expect(ends.compactMap { $0.metadata["reason"] } == ["too_many_pings"])
    }
}
