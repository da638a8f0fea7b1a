import APNSProvider
import CampaignStore
import Notifications

extension ProviderApp {
    /// The environments that the app uses, in the order in which messages are sent.
    var sendingEnvironments: [Environment] { Environment.sendingOrder.filter { endpoints[$0] != nil } }

    /// The searches that find all recipients: one for each environment.
    /// - Parameters:
    ///   - message: the message whose recipients are wanted; 0 for an audience without a message.
    ///   - last: the number of the last installation that may be a recipient; nil for all.
    func recipientQueries(
        _ audience: Audience,
        now: Timestamp,
        message: Int64 = 0,
        last: Int64? = nil,
    ) -> [RecipientQuery] {
        sendingEnvironments.map { environment in
            RecipientQuery(
                app: number, message: message, audience: audience, environment: environment, now: now,
                last: last ?? .max)
        }
    }
}

/// One environment of an app.
struct AppEndpoint: Hashable {
    /// The app's number.
    let app: Int64
    let environment: Environment
}

extension CredentialVault {
    /// Opens the credentials for one environment of an app.
    func credentials(
        for endpoint: ProviderApp.Endpoint,
        of app: ProviderApp,
        _ environment: Environment,
    ) throws -> ProviderCredentials {
        try open(endpoint.sealedCredentials, name: Self.endpointName(app.bundleID, environment)).provider()
    }
}

extension APNSEnvironment {
    /// - Parameter authority: certificates in PEM that verify the server's; nil for the system's.
    static func custom(url: String, pem authority: String?) throws(ProviderError) -> APNSEnvironment {
        try custom(url: url, authority: authority.map(APNSEnvironment.Authority.pem) ?? .system)
    }
}

extension Environment {
    /// The order in which a message works through the environments. Production is the first, because a message waits for a
    /// server that cannot be reached, and a forgotten development server must not keep it from its users.
    fileprivate static let sendingOrder: [Environment] = [.production, .development]

    /// The URL of Apple's server.
    var appleURL: String {
        switch self {
        case .development: "https://\(APNSEnvironment.development.host)"
        case .production: "https://\(APNSEnvironment.production.host)"
        }
    }
}
