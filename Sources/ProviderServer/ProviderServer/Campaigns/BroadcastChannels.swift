import APNSProvider
import CampaignStore
import HTTPAPI
import Notifications

/// Manages the broadcast channels of apps at the push service. They are not in the store: the service has the only list.
struct BroadcastChannels: Sendable {
    let vault: CredentialVault
    /// The time for a request to the service, in which a client of the API waits.
    let deadline: Duration
    let proxies: ProxyRules

    /// Calls `body` with a connection to the management of an app's channels.
    func with<Result: Sendable>(
        _ app: ProviderApp,
        _ environment: Environment,
        _ body: (ChannelManager) async throws -> Result,
    ) async throws -> Result {
        guard let endpoint = app.endpoints[environment] else {
            throw Problem(400, "The app has no \(environment.rawValue) environment.")
        }
        let manager = try manager(app, environment, endpoint)
        do {
            let result = try await body(manager)
            await manager.shutDown()
            return result
        } catch {
            await manager.shutDown()
            if let refusal = error as? ProviderError { throw Problem(refusal) }
            throw error
        }
    }

    private func manager(
        _ app: ProviderApp,
        _ environment: Environment,
        _ endpoint: ProviderApp.Endpoint,
    ) throws -> ChannelManager {
        let place: APNSEnvironment
        if let url = endpoint.channels {
            place = try .custom(url: url, pem: endpoint.authority)
        } else if endpoint.url == environment.appleURL {
            place = environment == .production ? .productionChannels : .developmentChannels
        } else {
            throw Problem(
                409,
                "The app's \(environment.rawValue) environment has no address of the management of channels: set channels."
            )
        }
        var configuration = ProviderClient.Configuration()
        configuration.deadline = deadline
        configuration.proxy = proxies.proxy(for: place.host, port: place.port)
        return try ChannelManager(
            credentials: try vault.credentials(for: endpoint, of: app, environment), environment: place,
            configuration: configuration)
    }
}

extension Problem {
    /// The problem that a refusal of the push service is, or that it cannot be reached.
    fileprivate init(_ error: ProviderError) {
        guard let rejection = error.rejection else {
            self.init(503, error.cause)
            return
        }
        let isMissing = rejection.reason == .channelNotRegistered
        self.init(isMissing ? 404 : 409, isMissing ? "There is no such channel." : rejection.description)
    }
}
