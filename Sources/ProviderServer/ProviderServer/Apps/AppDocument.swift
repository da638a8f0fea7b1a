import APNSProvider
import CampaignStore
import Foundation
import HTTPAPI
import Notifications

/// An app in the form that the API receives.
struct AppDocument {
    /// The settings of one environment in the request.
    private struct Place {
        let url: String
        let authority: String?
        let feedback: String?
        let channels: String?
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
    private let identity: ProviderApp.IdentityProvider?
    private let places: [Environment: Place]

    init(_ value: JSONValue) throws(Problem) {
        let reader = try DocumentReader(value, at: "", keys: Self.schema.keys)
        teamID = try reader.required("teamID", try reader.line("teamID", maximum: 64))
        guard TeamID(rawValue: teamID) != nil else { throw reader.fault("teamID", AccountIDs.form) }
        acceptsClaimedUsers = try reader.boolean("acceptsClaimedUsers") ?? false
        identity = try Self.identity(reader)
        guard identity == nil || !acceptsClaimedUsers else {
            throw reader.fault("acceptsClaimedUsers", "false if there is identity, whose tokens say who the user is")
        }
        let names = Environment.allCases.map(\.rawValue)
        let environments = try reader.required(
            "environments", try reader.object("environments", keys: names))
        var places: [Environment: Place] = [:]
        for environment in Environment.allCases {
            let keys = Self.environmentMembers.map(\.name)
            guard let place = try environments.object(environment.rawValue, keys: keys) else { continue }
            places[environment] = try Self.place(place, environment, teamID: teamID)
        }
        guard !places.isEmpty else { throw reader.fault("environments", "development, production or both") }
        self.places = places
    }

    static let schema = Schema.named(
        "AppRequest",
        .object([
            .required("teamID", .string(.accountID)),
            .required(
                "environments",
                .object(Environment.allCases.map { .optional($0.rawValue, .object(environmentMembers)) })),
            .optional("acceptsClaimedUsers", .boolean, "Whether the app itself may say who its user is."),
            .optional(
                "identity", AppView.identityForm.schema, "The identity provider whose tokens the server accepts."),
        ]))

    private static let environmentMembers: [Schema.Member] = [
        .optional("url", .string(.any), "Apple's server, if it is missing."),
        .optional("authority", .string(.any), "Certificates in PEM that verify the server's."),
        .optional("feedback", .string(.any), "The feedback service, https://host:port."),
        .optional(
            "channels", .string(.any),
            "The management of broadcast channels, https://host:port; Apple's, if it is missing."),
        .optional(
            "key", .object([.required("keyID", .string(.accountID)), .required("privateKey", .string(.any))])),
        .optional("certificate", .string(.any), "A certificate and its key in PEM."),
    ]

    private static func identity(_ reader: DocumentReader) throws(Problem) -> ProviderApp.IdentityProvider? {
        guard let identity = try reader.object("identity", keys: AppView.identityForm.schema.keys) else { return nil }
        func line(_ key: String) throws(Problem) -> String {
            try identity.required(key, try identity.line(key, maximum: ProviderServerLimits.identityNameBytes))
        }
        let provider = ProviderApp.IdentityProvider(
            issuer: try line("issuer"), audience: try line("audience"), keysFile: try line("keysFile"))
        guard provider.keysFile.hasPrefix("/") else {
            throw identity.fault("keysFile", "the whole path of a file on the server's machine")
        }
        return provider
    }

    /// Checks that the identity provider's keys can be read, so that a wrong path is found now.
    func checkIdentity(_ files: IdentityKeyFiles) throws(Problem) {
        guard let identity else { return }
        do throws(ProviderServerError) {
            _ = try files.keys(identity.keysFile)
        } catch {
            throw .invalid("/identity/keysFile", error.cause)
        }
    }

    private static func place(
        _ reader: DocumentReader,
        _ environment: Environment,
        teamID: String,
    ) throws(Problem) -> Place {
        let url = try reader.line("url", maximum: 300) ?? appleURL(environment)
        let authority = try reader.text("authority", maximum: 65_536)
        let credentials = try credentials(reader, teamID: teamID)
        let feedback = try feedback(reader)
        let channels = try reader.line("channels", maximum: 300)
        guard channels.map({ (try? APNSEnvironment.custom(url: $0)) != nil }) ?? true else {
            throw reader.fault("channels", "https://host:port")
        }
        do throws(ProviderError) {
            // Check the URL now, so that the store never contains an unusable one.
            _ = try APNSEnvironment.custom(url: url)
        } catch {
            throw .invalid(reader.place("url"), error.cause)
        }
        do throws(ProviderError) {
            // Credentials that stay are not opened here, so no client checks what is given beside them.
            if let authority { try APNSEnvironment.Authority.pem(authority).check() }
        } catch {
            throw .invalid(reader.place("authority"), error.cause)
        }
        // Make a client now, so that the store never contains credentials or certificates that cannot be used.
        if let credentials {
            let opened = try open(credentials, reader)
            do throws(ProviderError) {
                let client = try ProviderClient(
                    credentials: opened,
                    environment: .custom(url: url, authority: authority.map(APNSEnvironment.Authority.pem) ?? .system))
                withExtendedLifetime(client) {}
            } catch {
                let isAuthority = authority != nil && error.code == .badEnvironment
                throw .invalid(isAuthority ? reader.place("authority") : reader.pointer, error.cause)
            }
        }
        return Place(
            url: url, authority: authority, feedback: feedback, channels: channels, credentials: credentials)
    }

    /// - Throws: a problem with the place of the key, of its identifier or of the certificate.
    private static func open(
        _ credentials: CredentialVault.Credentials,
        _ reader: DocumentReader,
    ) throws(Problem) -> ProviderCredentials {
        do throws(ProviderError) {
            return try credentials.provider()
        } catch {
            guard case .key(_, let keyID, _) = credentials else {
                throw .invalid(reader.place("certificate"), error.cause)
            }
            let isID = KeyID(rawValue: keyID) != nil
            throw .invalid(reader.place("key") + (isID ? "/privateKey" : "/keyID"), error.cause)
        }
    }

    /// Reads the address of the feedback service. It has a port of its own, so the address has to name one.
    private static func feedback(_ reader: DocumentReader) throws(Problem) -> String? {
        guard let url = try reader.line("feedback", maximum: 300) else { return nil }
        guard (try? APNSEnvironment.custom(url: url)) != nil, URLComponents(string: url)?.port != nil else {
            throw reader.fault("feedback", "https://host:port; the port is usually 2196")
        }
        return url
    }

    private static func credentials(
        _ reader: DocumentReader,
        teamID: String,
    ) throws(Problem) -> CredentialVault.Credentials? {
        let certificate = try reader.text("certificate", maximum: 65_536)
        guard let key = try reader.object("key", keys: ["keyID", "privateKey"]) else {
            return certificate.map { .certificate($0) }
        }
        guard certificate == nil else {
            throw .invalid(reader.place("certificate"), "Give a key or a certificate, not both.")
        }
        return .key(
            teamID: teamID, keyID: try key.required("keyID", try key.line("keyID", maximum: 64)),
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
                    url: place.url, authority: place.authority, feedback: place.feedback,
                    channels: place.channels, sealedCredentials: try vault.seal(credentials, name: name),
                    credentials: credentials.summary)
            } else if var kept = known?.endpoints[environment], known?.teamID == teamID {
                kept.url = place.url
                kept.authority = place.authority
                kept.feedback = place.feedback
                kept.channels = place.channels
                endpoints[environment] = kept
            } else {
                throw Problem.invalid(
                    "/environments/\(environment.rawValue)", "The environment needs a key or a certificate.")
            }
        }
        for (environment, endpoint) in endpoints where endpoint.feedback != nil {
            guard endpoint.credentials == .certificate else {
                throw Problem.invalid(
                    "/environments/\(environment.rawValue)/feedback",
                    "The feedback service accepts certificates only (Guide, 3.1.3): give a certificate, or leave it out."
                )
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
            serverKeyDigest: serverKey, acceptsClaimedUsers: acceptsClaimedUsers, identity: identity)
    }
}
