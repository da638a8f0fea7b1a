import Foundation
import Service
import Testing

/// The endpoint that Prometheus reads.
@Suite(.timeLimit(.minutes(2))) struct MetricsTests {
    private func get(_ url: String, _ arguments: String...) async throws -> ChildProcess.Finished {
        try await ChildProcess.run("curl", ["-q", "-sS", "--noproxy", "*", "-w", "\n%{http_code}"] + arguments + [url])
    }

    @Test func countsWhatTheLogIsTold() async throws {
        try await CarillonProcess.with(environment: ["CARILLON_METRICS_PORT": "0"]) { service in
            let address = try #require(try ServiceDescription.read(DataFolder(service.data)).metrics)
            let identity = try await service.activate()
            let token = try await service.register("com.example.app", on: identity)
            #expect(try await service.send(alert: "Hello", to: token).status == 200)
            #expect(try await service.send(alert: "Hello", to: token, topic: "com.example.other").status == 400)
            try await service.listen(as: identity) { stream in
                let line = try await stream.nextNotification()
                #expect(try await service.acknowledge(line, as: identity).status == 204)
                var text = ""
                // It is counted where it is written, a moment later.
                while !text.contains(#"{event="acknowledged"} 1"#) {
                    text = try await get("http://\(address)/metrics").output
                }
                for event in ["accepted", "stored", "sent", "rejected"] {
                    #expect(text.contains("carillon_notification_events_total{event=\"\(event)\"} 1\n"))
                }
                #expect(text.contains(#"carillon_rejections_total{reason="TopicDisallowed"} 1"#))
                #expect(text.contains("carillon_accepted_to_stored_seconds_count 1\n"))
                #expect(text.contains("carillon_sent_to_acknowledged_seconds_count 1\n"))
                #expect(text.contains("carillon_connected_devices 1\n"))
                #expect(text.contains("carillon_pending_stores 0\n"))
                #expect(text.contains("carillon_delivery_log_lost_total 0\n"))
                #expect(text.hasSuffix("\n200"))
            }
        }
    }

    @Test func answersNothingElse() async throws {
        try await CarillonProcess.with(environment: ["CARILLON_METRICS_PORT": "0"]) { service in
            let address = try #require(try ServiceDescription.read(DataFolder(service.data)).metrics)
            #expect(try await get("http://\(address)/").output == "\n404")
            #expect(try await get("http://\(address)/metrics", "-X", "POST").output == "\n405")
            #expect(try await get("http://\(address)/metrics?x=1", "--http1.0").output.hasSuffix("\n200"))
            #expect(await service.stop().status == 0)
        }
    }

    @Test func isNotThereUnlessAskedFor() async throws {
        try await CarillonProcess.with { service in
            let description = try ServiceDescription.read(DataFolder(service.data))
            #expect(description.metrics == nil)
        }
    }
}
