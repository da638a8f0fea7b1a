import CommonTesting
import Foundation
import Testing

@testable import ServiceTesting

/// `carillon provider audience`.
@Suite(.timeLimit(.minutes(3))) struct ProviderAudienceCommandTests {
    @Test func `Audiences are saved, listed, shown and deleted`() async throws {
        try await ProviderServerProcess.run { server, _ in
            let app = ["--bundle-id", ProviderServerProcess.bundleID]
            let put = try await ProviderServerProcess.provider(
                server.data, "audience", "put", "readers", app[0], app[1], "--tags", "news && !muted")
            #expect(put["name"] == "readers" && put["recipients"] == 0)
            let list = try await ProviderServerProcess.provider(server.data, "audience", "list", app[0], app[1])
            #expect(list["audience"] == ["tags": "news && !muted"])
            let shown = try await ProviderServerProcess.provider(
                server.data, "audience", "show", "readers", app[0], app[1])
            #expect(shown == put)
            let selected = try await ProviderServerProcess.provider(
                server.data, "audience", "put", "players", app[0], app[1], "--where", "points > 5")
            #expect(selected["audience"] == ["where": "points > 5"])
            let deleted = try await ProviderServerProcess.provider(
                server.data, "audience", "delete", "readers", app[0], app[1])
            #expect(deleted == ["name": "readers"])
            await #expect(throws: UnexpectedOutput.self) {
                _ = try await ProviderServerProcess.provider(server.data, "audience", "show", "readers", app[0], app[1])
            }
        }
    }
}
