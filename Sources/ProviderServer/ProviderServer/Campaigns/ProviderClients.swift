import APNSProvider
import Logging
import Notifications
import CampaignStore

/// Keeps a client of the push service for each app and environment. Creates it at the first use.
actor ProviderClients {
    private var clients: [AppEndpoint: (endpoint: ProviderApp.Endpoint, client: ProviderClient)] = [:]
    private let vault: CredentialVault
    /// The provider tokens. Clients with the same key share one (Guide, 2.3.1).
    private let tokens = InMemoryProviderTokenStore()
    private let deadline: Duration
    private let proxies: ProxyRules
    private let logger: Logger

    init(_ vault: CredentialVault, deadline: Duration, proxies: ProxyRules = .none, logger: Logger) {
        self.vault = vault
        self.deadline = deadline
        self.proxies = proxies
        self.logger = logger
    }

    /// - Returns: nil if the app does not use the environment.
    func client(_ app: ProviderApp, _ environment: Environment) async throws -> ProviderClient? {
        guard let endpoint = app.endpoints[environment] else { return nil }
        let key = AppEndpoint(app: app.number, environment: environment)
        if let known = clients[key] {
            if known.endpoint == endpoint { return known.client }
            // New credentials need new connections (Guide, 2.3.3.1). The old client first waits for the answers under
            // way.
            clients[key] = nil
            await known.client.shutDown()
            if let newer = clients[key], newer.endpoint == endpoint { return newer.client }
        }
        var configuration = ProviderClient.Configuration()
        configuration.deadline = deadline
        configuration.tokenStore = tokens
        configuration.maximumInFlight = ProviderServerLimits.inFlight
        let place = try APNSEnvironment.custom(url: endpoint.url, pem: endpoint.authority)
        configuration.proxy = proxies.proxy(for: place.host, port: place.port)
        let client = try ProviderClient(
            credentials: try vault.credentials(for: endpoint, of: app, environment), environment: place,
            configuration: configuration, logger: logger)
        clients[key] = (endpoint, client)
        return client
    }

    func shutDown() async {
        for (_, client) in clients.values { await client.shutDown() }
        clients = [:]
    }
}
