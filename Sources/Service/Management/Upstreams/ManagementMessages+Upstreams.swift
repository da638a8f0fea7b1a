import Delivery
import HTTPAPI
import Notifications
import Upstream

extension ManagementMessages {
    package struct NewUpstream: Codable, Sendable {
        /// Nil for Apple's service.
        package var url: String?
        /// In PEM; nil for the authorities that the system trusts.
        package var authority: String?
        /// Nil to keep those that the upstream has.
        package var credentials: NewCredentials?
        package var proxy: String?
        /// A duration of ISO 8601.
        package var hold: String?
        package var capture: Bool?
        package var compare: Bool?

        package init(url: String? = nil, authority: String? = nil, credentials: NewCredentials?) {
            self.url = url
            self.authority = authority
            self.credentials = credentials
        }
    }

    package struct NewCredentials: Codable, Sendable {
        /// `key`, `certificate` or `passthrough`.
        package var kind: String
        package var teamID: String?
        package var keyID: String?
        /// In PEM.
        package var chain: String?
        /// In PEM.
        package var privateKey: String?

        package init(
            kind: String,
            teamID: String? = nil,
            keyID: String? = nil,
            chain: String? = nil,
            privateKey: String? = nil,
        ) {
            self.kind = kind
            self.teamID = teamID
            self.keyID = keyID
            self.chain = chain
            self.privateKey = privateKey
        }

        func read() throws(Problem) -> UpstreamVault.Credentials {
            switch (kind, teamID, keyID, chain, privateKey) {
            case ("key", let team?, let key?, nil, let pem?): return .key(teamID: team, keyID: key, privateKey: pem)
            case ("key", _, _, _, _):
                throw .invalid("/credentials", "A key has teamID, keyID and privateKey.")
            case ("certificate", nil, nil, let chain?, let key?): return .certificate(chain: chain, privateKey: key)
            case ("certificate", _, _, _, _):
                throw .invalid("/credentials", "A certificate has chain and privateKey.")
            case ("passthrough", nil, nil, nil, nil): return .passthrough
            default: throw .invalid("/credentials", "The kind passthrough has no other key.")
            }
        }
    }

    /// An upstream without its secrets.
    package struct Upstream: Codable, Sendable {
        package var bundleID: String
        package var environment: String
        package var url: String
        package var authority: String?
        package var credentials: Credentials
        package var proxy: String?
        package var hold: String
        package var capture: Bool
        package var compare: Bool

        package struct Credentials: Codable, Sendable {
            package var kind: String
            package var teamID: String?
            package var keyID: String?

            init(_ credentials: AppUpstream.Credentials) {
                switch credentials {
                case .key(let team, let key): (kind, teamID, keyID) = ("key", team.rawValue, key.rawValue)
                case .certificate: kind = "certificate"
                case .passthrough: kind = "passthrough"
                }
            }
        }
    }
}

extension ManagementSchemas {
    private static let kind = Schema.string(.oneOf(["key", "certificate", "passthrough"]))
    private static let address = Schema.string(.line(maximumBytes: 300))
    private static let authority = Schema.Member.optional(
        "authority", .string(.pem), "The certificates that the upstream's is verified with; without them, the system's."
    )

    static let newUpstream = Schema.named(
        "NewUpstream",
        .object([
            .optional("url", address, "https://host:port; Apple's service without it."), authority,
            .optional(
                "credentials",
                .named(
                    "NewUpstreamCredentials",
                    .object([
                        .required("kind", kind), .optional("teamID", .string(.accountID)),
                        .optional("keyID", .string(.accountID)),
                        .optional("chain", .string(.pem), "The certificate and its chain."),
                        .optional("privateKey", .string(.pem), "Kept encrypted, and never shown."),
                    ])), "Without them, the upstream keeps those that it has."),
            .optional("proxy", address, "http://host:port of a proxy that takes CONNECT; without it, HTTPS_PROXY."),
            .optional(
                "hold", .string(.duration), "How long a notification is kept that cannot be forwarded; PT0S without it."
            ),
            .optional("capture", .boolean, "Whether notifications are kept here and not forwarded."),
            .optional("compare", .boolean, "Whether requests are forwarded that are refused for their form."),
        ]))
    static let upstream = Schema.named(
        "Upstream",
        .object([
            .required("bundleID", .string(.bundleID)), .required("environment", .string(.environment)),
            .required("url", address), authority,
            .required(
                "credentials",
                .named(
                    "UpstreamCredentials",
                    .object([
                        .required("kind", kind), .optional("teamID", .string(.accountID)),
                        .optional("keyID", .string(.accountID)),
                    ]))),
            .optional("proxy", address), .required("hold", .string(.duration)), .required("capture", .boolean),
            .required("compare", .boolean),
        ]))
}
