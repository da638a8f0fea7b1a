import CommonTesting
import Foundation
import Testing

@testable import ServiceTesting

/// The provider server's page for Prometheus.
@Suite(.startsPrograms, .timeLimit(.minutes(2))) struct ProviderMetricsTests {
    @Test func `The metrics are there before the first app, each with its sentence`() async throws {
        try await withTemporaryFolder { folder in
            let arguments = ["provider", "serve", "--json", "--listen", "127.0.0.1:0", "--data", folder + "/data"]
            try await ChildProcess.with(BuiltCommand.path, arguments) { child in
                let ready = try FoundationJSON(try required(await child.output.nextLine()))
                let url = try required(ready["url"]?.text)
                let key = try String(contentsOfFile: folder + "/data/provider.key", encoding: .utf8)
                let page = try await ChildProcess.run(
                    "curl",
                    [
                        "-q", "-sS", "--noproxy", "*", "-H", "Authorization: Bearer \(key.split(separator: "\n")[0])",
                        url + "/metrics",
                    ]
                ).output
                for line in [
                    "carillon_provider_messages_running 0", "apns_provider_accepted_total 0",
                    "apns_provider_connections 0",
                    #"carillon_provider_hook_attempts_total{outcome="failed"} 0"#, "apns_provider_send_seconds_count 0",
                ] {
                    #expect(page.contains("\n\(line)\n"), "\(line)")
                }
                #expect(try await MetricsLint.faults(page) == [])
            }
        }
    }
}
