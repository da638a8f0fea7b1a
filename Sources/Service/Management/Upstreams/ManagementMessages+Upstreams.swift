import Delivery
package import HTTPAPI
import Notifications
import Upstream

extension ManagementMessages {
    package struct NewUpstream: JSONMessage {
        package var url: String?
        package var authority: String?
        package var credentials: NewCredentials?
        package var proxy: String?
        package var hold: String?
        package var capture: Bool?
        package var compare: Bool?

        package static let form: JSONForm<NewUpstream> = .object(
            "NewUpstream", NewUpstream.init(url:authority:credentials:proxy:hold:capture:compare:),
            .optional("url", .text(.upstreamAddress), \.url, "https://host:port; Apple's service without it."),
            .optional("authority", .text(.pem), \.authority, meaningOfAuthority),
            .optional(
                "credentials", NewCredentials.form, \.credentials,
                "Without them, the upstream keeps those that it has."),
            .optional(
                "proxy", .text(.upstreamAddress), \.proxy,
                "http://host:port of a proxy that takes CONNECT; without it, HTTPS_PROXY."),
            .optional(
                "hold", .text(.duration), \.hold,
                "How long a notification is kept that cannot be forwarded; PT0S without it."),
            .optional("capture", .boolean, \.capture, "Whether notifications are kept here and not forwarded."),
            .optional(
                "compare", .boolean, \.compare, "Whether requests are forwarded that are refused for their form."))
    }

    private static let meaningOfAuthority =
        "The certificates that the upstream's is verified with; without them, the system's."

    package struct NewCredentials: JSONMessage {
        package let kind: String
        package let teamID: String?
        package let keyID: String?
        package let chain: String?
        package let privateKey: String?

        package init(
            kind: String,
            teamID: String? = nil,
            keyID: String? = nil,
            chain: String? = nil,
            privateKey: String? = nil,
        ) {
            (self.kind, self.teamID, self.keyID) = (kind, teamID, keyID)
            (self.chain, self.privateKey) = (chain, privateKey)
        }

        package static let form: JSONForm<NewCredentials> = .object(
            "NewUpstreamCredentials", NewCredentials.init,
            .required("kind", .text(.credentials), \.kind), .optional("teamID", .text(.accountID), \.teamID),
            .optional("keyID", .text(.accountID), \.keyID),
            .optional("chain", .text(.pem), \.chain, "The certificate and its chain."),
            .optional("privateKey", .text(.pem), \.privateKey, "Kept encrypted, and never shown."))

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
    package struct Upstream: JSONMessage {
        package let bundleID: String
        package let environment: String
        package let url: String
        package let authority: String?
        package let credentials: Credentials
        package let proxy: String?
        package let hold: String
        package let capture: Bool
        package let compare: Bool
        package let refused: UpstreamRefusal?

        package static let form: JSONForm<Upstream> = .object(
            "Upstream", Upstream.init,
            .required("bundleID", .text(.bundleID), \.bundleID),
            .required("environment", .text(.environment), \.environment),
            .required("url", .text(.upstreamAddress), \.url),
            .optional("authority", .text(.pem), \.authority, meaningOfAuthority),
            .required("credentials", Credentials.form, \.credentials),
            .optional("proxy", .text(.upstreamAddress), \.proxy), .required("hold", .text(.duration), \.hold),
            .required("capture", .boolean, \.capture), .required("compare", .boolean, \.compare),
            .optional("refused", UpstreamRefusal.form, \.refused, UpstreamRefusal.meaning))

        package struct Credentials: JSONMessage {
            package let kind: String
            package let teamID: String?
            package let keyID: String?

            package static let form: JSONForm<Credentials> = .object(
                "UpstreamCredentials", Credentials.init(kind:teamID:keyID:),
                .required("kind", .text(.credentials), \.kind), .optional("teamID", .text(.accountID), \.teamID),
                .optional("keyID", .text(.accountID), \.keyID))
        }
    }
}

extension ManagementMessages {
    /// An upstream refuses the gateway's own key or certificate.
    package struct UpstreamRefusal: JSONMessage, Hashable {
        package let reason: String
        package let since: UInt64

        static let meaning =
            "If this node's last answer was that the upstream refuses the gateway's own key or certificate."

        package static let form: JSONForm<UpstreamRefusal> = .object(
            "UpstreamRefusal", UpstreamRefusal.init(reason:since:),
            .required("reason", .text(.any), \.reason, "The reason of the newest answer."),
            .required("since", .integer(), \.since, "When the first of these answers came."))
    }
}

extension ManagementMessages.UpstreamRefusal {
    init(_ refusal: CredentialsRefusal) {
        self.init(reason: refusal.reason, since: refusal.since.milliseconds)
    }
}

extension ManagementMessages.NewUpstream {
    package init(
        url: String? = nil,
        authority: String? = nil,
        credentials: ManagementMessages.NewCredentials?,
    ) {
        self.init(
            url: url, authority: authority, credentials: credentials, proxy: nil, hold: nil, capture: nil,
            compare: nil)
    }
}

extension ManagementMessages.Upstream.Credentials {
    init(_ credentials: AppUpstream.Credentials) {
        switch credentials {
        case .key(let team, let key): self.init(kind: "key", teamID: team.rawValue, keyID: key.rawValue)
        case .certificate: self.init(kind: "certificate", teamID: nil, keyID: nil)
        case .passthrough: self.init(kind: "passthrough", teamID: nil, keyID: nil)
        }
    }
}

extension TextFormat {
    fileprivate static let credentials = oneOf(["key", "certificate", "passthrough"])
}
