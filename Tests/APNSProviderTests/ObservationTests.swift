import CoreMetrics
import HTTP2
import InMemoryTracing
import MetricsTestKit
import Testing
import Tracing

@testable import APNSProvider

/// Metrics and spans.
@Suite(.timeLimit(.minutes(1))) struct ObservationTests {
    @Test func outcomesAreCounted() async throws {
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

    @Test func aNotificationIsASpan() async throws {
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
}
