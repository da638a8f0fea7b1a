import CommonTesting
import Notifications
import Testing

@testable import ServiceTesting

/// Many requests at the same time, with a client that other people wrote. Each is answered with 200, and none is
/// reset.
@Suite(
    .service(environment: ["CARILLON_LIMIT_TOKEN_RATE": "0"]), .enabled(if: ChildProcess.isInstalled("h2load")),
    .timeLimit(.minutes(3)))
struct NotificationsWithH2loadTests {
    private func load(_ count: Int, connections: Int, streams: Int) async throws {
        let service = try CarillonProcess.current
        let token = try await service.register("com.example.app", on: try await service.activate())
        let push = try WirePush(token: token, topic: "com.example.app", from: service.developmentProvider)
        try await withTemporaryFolder { folder in
            try push.write(to: folder + "/payload")
            let headers = (push.headers + [("apns-expiration", "0")]).flatMap { ["-H", "\($0.name): \($0.value)"] }
            let finished = try await ChildProcess.run(
                "h2load",
                ["-n", "\(count)", "-c", "\(connections)", "-m", "\(streams)", "-d", folder + "/payload"] + headers
                    + ["https://\(try service.addresses(.development).provider)\(push.path)"])
            #expect(finished.status == 0, "\(finished.errors)")
            let all = "\(count) total, \(count) started, \(count) done, \(count) succeeded, 0 failed, 0 errored"
            #expect(finished.output.contains("requests: " + all), "\(finished.output)")
            #expect(finished.output.contains("status codes: \(count) 2xx, 0 3xx, 0 4xx, 0 5xx"), "\(finished.output)")
        }
    }

    @Test func `Eight connections with a hundred streams`() async throws {
        try await load(2000, connections: 8, streams: 100)
    }

    @Test func `One connection with one stream`() async throws {
        try await load(500, connections: 1, streams: 1)
    }
}
