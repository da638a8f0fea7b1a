import CampaignStore
import HTTPAPI
import Notifications

/// An app, as the API shows it: never with its signing key or the key of its certificate.
struct AppView: Sendable {
    /// The server of one environment.
    struct Endpoint: Sendable {
        let url: String
        let authority: String?
        let feedback: String?
        let channels: String?
        let keyID: String?
        let certificate: Bool?

        static let form: JSONForm<Endpoint> = JSONForm.object(
            "AppEnvironment", Endpoint.init(url:authority:feedback:channels:keyID:certificate:),
            .required("url", .text(.any), \.url),
            .optional("authority", .text(.any), \.authority),
            .optional("feedback", .text(.any), \.feedback),
            .optional("channels", .text(.any), \.channels),
            .optional("keyID", .text(.any), \.keyID, "If it has a signing key."),
            .optional("certificate", .boolean, \.certificate, "If it has a certificate."))
    }

    struct Endpoints: Sendable {
        let development: Endpoint?
        let production: Endpoint?

        static let form: JSONForm<Endpoints> = JSONForm.object(
            nil, Endpoints.init(development:production:),
            .optional(Environment.development.rawValue, Endpoint.form, \.development),
            .optional(Environment.production.rawValue, Endpoint.form, \.production))
    }

    let bundleID: String
    let teamID: String
    let acceptsClaimedUsers: Bool
    let environments: Endpoints
    let identity: ProviderApp.IdentityProvider?
    var clientKey: String?
    var serverKey: String?

    static let form: JSONForm<AppView> = JSONForm.object(
        "App",
        AppView.init(bundleID:teamID:acceptsClaimedUsers:environments:identity:clientKey:serverKey:),
        .required("bundleID", .text(.bundleID), \.bundleID),
        .required("teamID", .text(.accountID), \.teamID),
        .required("acceptsClaimedUsers", .boolean, \.acceptsClaimedUsers),
        .required(
            "environments", Endpoints.form, \.environments, "Where the server sends to, by environment."),
        .optional(
            "identity", identityForm, \.identity, "The identity provider whose tokens the server accepts."),
        .optional("clientKey", .text(.any), \.clientKey, "Only the answer that makes the app has it."),
        .optional("serverKey", .text(.any), \.serverKey, "Only the answer that makes the app has it."))

    static let identityForm: JSONForm<ProviderApp.IdentityProvider> = JSONForm.object(
        nil, ProviderApp.IdentityProvider.init(issuer:audience:keysFile:),
        .required("issuer", .text(identityName), \.issuer),
        .required("audience", .text(identityName), \.audience),
        .required("keysFile", .text(keysFile), \.keysFile))

    private static let identityName = TextFormat.line(maximumBytes: ProviderServerLimits.identityNameBytes)
    private static let keysFile = TextFormat(
        "the whole path of a file on the server's machine", pattern: "^/[^\\u0000-\\u001f\\u007f-\\u009f]*$",
        length: identityName.length
    ) { $0.utf8.first == UInt8(ascii: "/") && identityName.allows($0) }
}

extension AppView {
    init(_ app: ProviderApp) {
        self.init(
            bundleID: app.bundleID, teamID: app.teamID, acceptsClaimedUsers: app.acceptsClaimedUsers,
            environments: Endpoints(
                development: app.endpoints[.development].map(Endpoint.init),
                production: app.endpoints[.production].map(Endpoint.init)),
            identity: app.identity)
    }
}

extension AppView.Endpoint {
    init(_ endpoint: ProviderApp.Endpoint) {
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
