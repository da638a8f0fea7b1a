import CampaignStore
import HTTPAPI
import Notifications

extension ProviderMessages {
    /// An app, never with its signing key or the key of its certificate.
    struct App: JSONMessage {
        let bundleID: String
        let teamID: String
        let acceptsClaimedUsers: Bool
        let environments: [Environment: AppEnvironment]
        let identity: ProviderApp.IdentityProvider?
        var clientKey: String?
        var serverKey: String?

        static let form: JSONForm<App> = .object(
            "App", App.init,
            .required("bundleID", .text(.bundleID), \.bundleID), .required("teamID", .text(.accountID), \.teamID),
            .required("acceptsClaimedUsers", .boolean, \.acceptsClaimedUsers),
            .required(
                "environments", byEnvironment(AppEnvironment.form), \.environments,
                "Where the server sends to, by environment."),
            .optional("identity", identityForm, \.identity, meaningOfIdentity),
            .optional("clientKey", .text(.any), \.clientKey, "Only the answer that makes the app has it."),
            .optional("serverKey", .text(.any), \.serverKey, "Only the answer that makes the app has it."))
    }

    /// The server of one environment.
    struct AppEnvironment: JSONMessage {
        let url: String
        let authority: String?
        let feedback: String?
        let channels: String?
        let keyID: String?
        let certificate: Bool?

        static let form: JSONForm<AppEnvironment> = .object(
            "AppEnvironment", AppEnvironment.init,
            .required("url", .text(.any), \.url), .optional("authority", .text(.any), \.authority),
            .optional("feedback", .text(.any), \.feedback), .optional("channels", .text(.any), \.channels),
            .optional("keyID", .text(.any), \.keyID, "If it has a signing key."),
            .optional("certificate", .boolean, \.certificate, "If it has a certificate."))
    }

    struct AppRequest: JSONMessage {
        let teamID: String
        let environments: [Environment: AppEnvironmentRequest]
        let acceptsClaimedUsers: Bool?
        let identity: ProviderApp.IdentityProvider?

        static let form: JSONForm<AppRequest> = .object(
            "AppRequest", AppRequest.init,
            .required("teamID", .text(.accountID), \.teamID),
            .required("environments", byEnvironment(AppEnvironmentRequest.form), \.environments),
            .optional(
                "acceptsClaimedUsers", .boolean, \.acceptsClaimedUsers,
                "Whether the app itself may say who its user is."),
            .optional("identity", identityForm, \.identity, meaningOfIdentity))
    }

    /// The server of one environment, and the credentials for it.
    struct AppEnvironmentRequest: JSONMessage {
        let url: String?
        let authority: String?
        let feedback: String?
        let channels: String?
        let key: SigningKey?
        let certificate: String?

        static let form: JSONForm<AppEnvironmentRequest> = .object(
            nil, AppEnvironmentRequest.init,
            .optional("url", .text(address), \.url, "Apple's server, if it is missing."),
            .optional("authority", .text(.pem), \.authority, "Certificates in PEM that verify the server's."),
            .optional("feedback", .text(address), \.feedback, "The feedback service, https://host:port."),
            .optional(
                "channels", .text(address), \.channels,
                "The management of broadcast channels, https://host:port; Apple's, if it is missing."),
            .optional("key", SigningKey.form, \.key),
            .optional("certificate", .text(.pem), \.certificate, "A certificate and its key in PEM."))

        private static let address = TextFormat.line(maximumBytes: 300)
    }

    struct SigningKey: JSONMessage {
        let keyID: String
        let privateKey: String

        static let form: JSONForm<SigningKey> = .object(
            nil, SigningKey.init,
            .required("keyID", .text(.accountID), \.keyID),
            .required("privateKey", .text(.upTo(bytes: 4_096)), \.privateKey))
    }

    /// Which key of an app to replace.
    struct KeyRequest: JSONMessage {
        let role: AppDirectory.Role

        static let form: JSONForm<KeyRequest> = .object(
            "KeyRequest", KeyRequest.init(role:), .required("key", roleForm, \.role, "Which one."))

        private static let roleForm = JSONForm<String>.text(.oneOf(AppDirectory.Role.allCases.map(\.rawValue)))
            .map(to: \.rawValue, from: AppDirectory.Role.init(rawValue:), allowed: "client or server")
    }

    /// A new key. It is shown once.
    struct NewKey: JSONMessage {
        let key: String

        static let form: JSONForm<NewKey> = .object(
            "NewKey", NewKey.init(key:), .required("key", .text(.any), \.key))
    }

    private static func byEnvironment<Value: Sendable>(
        _ form: JSONForm<Value>
    ) -> JSONForm<[Environment: Value]> {
        .object(
            nil, { [.development: $0, .production: $1].compactMapValues { $0 } },
            .optional(Environment.development.rawValue, form, \.[.development]),
            .optional(Environment.production.rawValue, form, \.[.production]))
    }

    private static let identityForm: JSONForm<ProviderApp.IdentityProvider> = .object(
        nil, ProviderApp.IdentityProvider.init,
        .required("issuer", .text(identityName), \.issuer), .required("audience", .text(identityName), \.audience),
        .required("keysFile", .text(keysFile), \.keysFile))

    private static let meaningOfIdentity = "The identity provider whose tokens the server accepts."
    private static let identityName = TextFormat.line(maximumBytes: ProviderServerLimits.identityNameBytes)
    private static let keysFile = TextFormat(
        "the whole path of a file on the server's machine", pattern: "^/[^\\u0000-\\u001f\\u007f-\\u009f]*$",
        length: identityName.length
    ) { $0.utf8.first == UInt8(ascii: "/") && identityName.allows($0) }
}

extension ProviderMessages.App {
    init(_ app: ProviderApp) {
        self.init(
            bundleID: app.bundleID, teamID: app.teamID, acceptsClaimedUsers: app.acceptsClaimedUsers,
            environments: app.endpoints.mapValues(ProviderMessages.AppEnvironment.init(_:)), identity: app.identity)
    }
}

extension ProviderMessages.AppEnvironment {
    fileprivate init(_ endpoint: ProviderApp.Endpoint) {
        let (keyID, hasCertificate): (String?, Bool?) =
            switch endpoint.credentials {
            case .key(let keyID): (keyID, nil)
            case .certificate: (nil, true)
            }
        self.init(
            url: endpoint.url, authority: endpoint.authority, feedback: endpoint.feedback, channels: endpoint.channels,
            keyID: keyID, certificate: hasCertificate)
    }
}
