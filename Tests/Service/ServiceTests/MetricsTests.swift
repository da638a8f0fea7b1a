import CommonTesting
import Foundation
import Service
import Testing

@testable import ServiceTesting

/// The endpoint that Prometheus reads.
@Suite(.startsPrograms, .timeLimit(.minutes(2))) struct MetricsTests {
    private func get(_ url: String, _ arguments: String...) async throws -> ChildProcess.Finished {
        try await ChildProcess.run("curl", ["-q", "-sS", "--noproxy", "*", "-w", "\n%{http_code}"] + arguments + [url])
    }

    @Test func `Counts what the log is told`() async throws {
        try await CarillonProcess.with { service in
            let url = try #require(try ServiceDescription.read(DataFolder(service.data)).management).url
            let identity = try await service.activate()
            let untouched = try await get("\(url)/metrics").output.replacing("\n200", with: "\n")
            #expect(try await MetricsLint.faults(untouched) == [])
            let token = try await service.register("com.example.app", on: identity)
            #expect(try await service.send(alert: "Hello", to: token).status == 200)
            #expect(try await service.send(alert: "Hello", to: token, topic: "com.example.other").status == 400)
            try await service.listen(as: identity) { stream in
                let line = try await stream.nextNotification()
                #expect(try await service.acknowledge(line, as: identity).status == 204)
                // Events are counted when they are written to the log, which is a moment later.
                let text = try await firstValue {
                    let text = try await get("\(url)/metrics").output
                    return text.contains(#"{event="acknowledged"} 1"#) ? text : nil
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
                #expect(try await MetricsLint.faults(String(text.dropLast(4)) + "\n") == [])
            }
        }
    }
}
