import APNSProvider
import Notifications
import ProviderStore

/// An app in the form that the API receives and shows.
struct AppDocument {
    /// The settings of one environment in the request.
    private struct Place {
        let url: String
        let authority: String?
        /// Nil to keep the credentials that are stored.
        let credentials: CredentialVault.Credentials?
    }

    /// The URL of Apple's server.
    static func appleURL(_ environment: Environment) -> String {
        switch environment {
        case .development: "https://api.development.push.apple.com"
        case .production: "https://api.push.apple.com"
        }
    }

    private let teamID: String
    private let acceptsClaimedUsers: Bool
    private let places: [Environment: Place]

    init(_ value: JSONValue) throws(APIProblem) {
        let reader = try DocumentReader(value, at: "", keys: ["teamID", "environments", "acceptsClaimedUsers"])
        teamID = try reader.required("teamID", try reader.line("teamID", maximum: 10))
        guard TeamID(rawValue: teamID) != nil else { throw reader.fault("teamID", "ten capital letters and digits") }
        acceptsClaimedUsers = try reader.boolean("acceptsClaimedUsers") ?? false
        let names = Environment.allCases.map(\.rawValue)
        let environments = try reader.required(
            "environments", try reader.object("environments", keys: names))
        var places: [Environment: Place] = [:]
        for environment in Environment.allCases {
            let keys = ["url", "authority", "key", "certificate"]
            guard let place = try environments.object(environment.rawValue, keys: keys) else { continue }
            places[environment] = try Self.place(place, environment, teamID: teamID)
        }
        guard !places.isEmpty else { throw reader.fault("environments", "development, production or both") }
        self.places = places
    }

    private static func place(
        _ reader: DocumentReader,
        _ environment: Environment,
        teamID: String,
    ) throws(APIProblem) -> Place {
        let url = try reader.line("url", maximum: 300) ?? appleURL(environment)
        let authority = try reader.text("authority", maximum: 65_536)
        let credentials = try credentials(reader, teamID: teamID)
        do throws(ProviderError) {
            // Check the URL now, so that the store never contains an unusable one.
            _ = try APNSEnvironment.custom(url: url)
        } catch {
            throw .invalid(reader.place("url"), error.cause)
        }
        do throws(ProviderError) {
            guard let credentials else { return Place(url: url, authority: authority, credentials: nil) }
            let client = try ProviderClient(
                credentials: try credentials.provider(),
                environment: .custom(url: url, authority: authority.map(APNSEnvironment.Authority.pem) ?? .system))
            withExtendedLifetime(client) {}
        } catch {
            throw .invalid(reader.pointer, error.cause)
        }
        return Place(url: url, authority: authority, credentials: credentials)
    }

    private static func credentials(
        _ reader: DocumentReader,
        teamID: String,
    ) throws(APIProblem) -> CredentialVault.Credentials? {
        let certificate = try reader.text("certificate", maximum: 65_536)
        guard let key = try reader.object("key", keys: ["keyID", "privateKey"]) else {
            return certificate.map { .certificate($0) }
        }
        guard certificate == nil else {
            throw .invalid(reader.place("certificate"), "Give a key or a certificate, not both.")
        }
        return .key(
            teamID: teamID, keyID: try key.required("keyID", try key.line("keyID", maximum: 10)),
            privateKey: try key.required("privateKey", try key.text("privateKey", maximum: 4_096)))
    }

    /// Returns the endpoints to store.
    func endpoints(
        bundleID: String,
        known: ProviderApp?,
        _ vault: CredentialVault,
    ) throws -> [Environment: ProviderApp.Endpoint] {
        var endpoints: [Environment: ProviderApp.Endpoint] = [:]
        for (environment, place) in places {
            if let credentials = place.credentials {
                let name = CredentialVault.name(bundleID, environment)
                endpoints[environment] = ProviderApp.Endpoint(
                    url: place.url, authority: place.authority,
                    sealedCredentials: try vault.seal(credentials, name: name), credentials: credentials.summary)
            } else if var kept = known?.endpoints[environment], known?.teamID == teamID {
                kept.url = place.url
                kept.authority = place.authority
                endpoints[environment] = kept
            } else {
                throw APIProblem.invalid(
                    "/environments/\(environment.rawValue)", "The environment needs a key or a certificate.")
            }
        }
        return endpoints
    }

    /// Returns the app to store.
    func app(
        bundleID: String,
        known: ProviderApp?,
        clientKey: [UInt8],
        serverKey: [UInt8],
        _ vault: CredentialVault,
    ) throws -> ProviderApp {
        ProviderApp(
            number: known?.number ?? 0, bundleID: bundleID, teamID: teamID,
            endpoints: try endpoints(bundleID: bundleID, known: known, vault), clientKeyDigest: clientKey,
            serverKeyDigest: serverKey, acceptsClaimedUsers: acceptsClaimedUsers, identity: known?.identity)
    }

    /// Returns the members that the API shows of an app. They never include a key.
    static func show(_ app: ProviderApp) -> [String: JSONValue] {
        let environments = app.endpoints.map { environment, endpoint -> (String, JSONValue) in
            var shown: [String: JSONValue] = ["url": .string(endpoint.url)]
            shown["authority"] = endpoint.authority.map(JSONValue.string)
            switch endpoint.credentials {
            case .key(let keyID): shown["keyID"] = .string(keyID)
            case .certificate: shown["certificate"] = true
            }
            return (environment.rawValue, .object(shown))
        }
        return [
            "bundleID": .string(app.bundleID), "teamID": .string(app.teamID),
            "acceptsClaimedUsers": .bool(app.acceptsClaimedUsers),
            "environments": .object(Dictionary(environments, uniquingKeysWith: { $1 })),
        ]
    }
}
