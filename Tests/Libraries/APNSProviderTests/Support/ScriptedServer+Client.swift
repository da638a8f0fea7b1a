import CommonTesting
import Logging
import ProviderTesting

@testable import APNSProvider

extension ScriptedServer {
    /// Runs with a client of this server.
    func withClient(
        credentials: ProviderCredentials? = nil,
        host: String = "127.0.0.1",
        _ change: (inout ProviderClient.Configuration) -> Void = { _ in },
        logger: Logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() },
        internals: ProviderClient.Internals = .init(),
        _ body: (ProviderClient) async throws -> Void,
    ) async throws {
        var configuration = ProviderClient.Configuration()
        configuration.tokenStore = InMemoryProviderTokenStore()
        change(&configuration)
        let client = try ProviderClient(
            credentials: try credentials ?? TestAuthority.credentials(), environment: environment(host: host),
            configuration: configuration, logger: logger, internals: internals)
        try await withCleanUp {
            try await body(client)
        } cleanUp: {
            await client.shutDown()
        }
    }
}
