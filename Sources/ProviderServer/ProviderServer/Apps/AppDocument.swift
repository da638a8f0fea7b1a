import APNSProvider
import CampaignStore
import Connections
import HTTPAPI
import Notifications

/// An app in the form that the API receives.
struct AppDocument: Sendable {
    private let teamID: String
    private let places: [Environment: Place]
    private let acceptsClaimedUsers: Bool
    private let identity: ProviderApp.IdentityProvider?

    static let form: JSONForm<AppDocument> = .object(
        "AppRequest", { AppDocument(teamID: $0, places: $1, acceptsClaimedUsers: $2 ?? false, identity: $3) },
        .required("teamID", .text(.accountID), \.teamID),
        .required("environments", placesForm, \.places),
        .optional(
            "acceptsClaimedUsers", .boolean, \.acceptsClaimedUsers, "Whether the app itself may say who its user is."),
        .optional(
            "identity", AppView.identityForm, \.identity, "The identity provider whose tokens the server accepts."))

    private static let placesForm: JSONForm<[Environment: Place]> = .object(
        nil, { [.development: $0, .production: $1].compactMapValues { $0 } },
        .optional(Environment.development.rawValue, Place.form, \.[.development]),
        .optional(Environment.production.rawValue, Place.form, \.[.production]))

    /// The URL of Apple's server.
    static func appleURL(_ environment: Environment) -> String {
        switch environment {
        case .development: "https://api.development.push.apple.com"
        case .production: "https://api.push.apple.com"
        }
    }
}

extension AppDocument {
    init(_ value: JSONValue) throws(Problem) {
        self = try Self.form.read(value, nullIsMissing: true)
        guard identity == nil || !acceptsClaimedUsers else {
            throw .invalid(
                "/acceptsClaimedUsers",
                "The value has to be false if there is identity, whose tokens say who the user is.")
        }
        guard !places.isEmpty else {
            throw .invalid("/environments", "The value has to be development, production or both.")
        }
        for environment in Environment.allCases { try places[environment]?.check(environment, teamID: teamID) }
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

    /// Returns the endpoints to store.
    func endpoints(
        bundleID: String,
        known: ProviderApp?,
        _ vault: CredentialVault,
    ) throws -> [Environment: ProviderApp.Endpoint] {
        var endpoints: [Environment: ProviderApp.Endpoint] = [:]
        for (environment, place) in places {
            let url = place.url ?? Self.appleURL(environment)
            if let credentials = place.credentials(teamID: teamID) {
                let name = CredentialVault.name(bundleID, environment)
                endpoints[environment] = ProviderApp.Endpoint(
                    url: url, authority: place.authority, feedback: place.feedback,
                    channels: place.channels, sealedCredentials: try vault.seal(credentials, name: name),
                    credentials: credentials.summary)
            } else if var kept = known?.endpoints[environment], known?.teamID == teamID {
                kept.url = url
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

/// The settings of one environment in the request.
private struct Place: Sendable {
    struct Key: Sendable {
        let keyID: String
        let privateKey: String
    }

    let url: String?
    let authority: String?
    let feedback: String?
    let channels: String?
    let key: Key?
    let certificate: String?

    static let form: JSONForm<Place> = .object(
        nil, Place.init(url:authority:feedback:channels:key:certificate:),
        .optional("url", .text(address), \.url, "Apple's server, if it is missing."),
        .optional("authority", .text(.pem), \.authority, "Certificates in PEM that verify the server's."),
        .optional("feedback", .text(address), \.feedback, "The feedback service, https://host:port."),
        .optional(
            "channels", .text(address), \.channels,
            "The management of broadcast channels, https://host:port; Apple's, if it is missing."),
        .optional("key", keyForm, \.key),
        .optional("certificate", .text(.pem), \.certificate, "A certificate and its key in PEM."))

    private static let keyForm: JSONForm<Key> = .object(
        nil, Key.init(keyID:privateKey:),
        .required("keyID", .text(.accountID), \.keyID),
        .required("privateKey", .text(.upTo(bytes: 4_096)), \.privateKey))

    private static let address = TextFormat.line(maximumBytes: 300)

    /// Nil to keep the credentials that are stored.
    func credentials(teamID: String) -> CredentialVault.Credentials? {
        key.map { .key(teamID: teamID, keyID: $0.keyID, privateKey: $0.privateKey) }
            ?? certificate.map { .certificate($0) }
    }

    /// Checks everything that the form does not, so that the store never contains what cannot be used.
    func check(_ environment: Environment, teamID: String) throws(Problem) {
        let pointer = "/environments/\(environment.rawValue)"
        guard key == nil || certificate == nil else {
            throw .invalid(pointer + "/certificate", "Give a key or a certificate, not both.")
        }
        // The feedback service has a port of its own, so the address has to name one.
        if let feedback, !Self.isServer(feedback) || (try? ServerURL(feedback))?.port == nil {
            throw .invalid(
                pointer + "/feedback", "The value has to be https://host:port; the port is usually 2196.")
        }
        if let channels, !Self.isServer(channels) {
            throw .invalid(pointer + "/channels", "The value has to be https://host:port.")
        }
        let url = url ?? AppDocument.appleURL(environment)
        do throws(ProviderError) {
            _ = try APNSEnvironment.custom(url: url)
        } catch {
            throw .invalid(pointer + "/url", error.cause)
        }
        do throws(ProviderError) {
            // Credentials that stay are not opened here, so no client checks what is given beside them.
            if let authority { try APNSEnvironment.Authority.pem(authority).check() }
        } catch {
            throw .invalid(pointer + "/authority", error.cause)
        }
        guard let credentials = credentials(teamID: teamID) else { return }
        let opened: ProviderCredentials
        do throws(ProviderError) {
            opened = try credentials.provider()
        } catch {
            throw .invalid(pointer + (key == nil ? "/certificate" : "/key/privateKey"), error.cause)
        }
        do throws(ProviderError) {
            let client = try ProviderClient(
                credentials: opened,
                environment: .custom(url: url, authority: authority.map(APNSEnvironment.Authority.pem) ?? .system))
            withExtendedLifetime(client) {}
        } catch {
            let isAuthority = authority != nil && error.code == .badEnvironment
            throw .invalid(isAuthority ? pointer + "/authority" : pointer, error.cause)
        }
    }

    private static func isServer(_ url: String) -> Bool { (try? APNSEnvironment.custom(url: url)) != nil }
}
