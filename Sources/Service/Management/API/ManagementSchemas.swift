import Delivery
import HTTPAPI
import Notifications
import Trust

/// The schemas of the API's messages: the members of ``ManagementMessages``, with the rules for each value.
enum ManagementSchemas {
    private static let moment = Schema.integer(0...Int64.max)
    private static let text = Schema.string(.any)
    private static let team = Schema.string(.accountID)
    private static let key = Schema.string(.accountID)
    private static let bundleID = Schema.string(.bundleID)
    private static let environment = Schema.string(.environment)
    private static let serial = Schema.string(.serial)

    private static func named(_ name: String, _ members: [Schema.Member]) -> Schema { .named(name, .object(members)) }

    // MARK: Teams and apps

    static let newTeam = named(
        "NewTeam",
        [
            .required("name", .string(.line(maximumBytes: Team.maximumNameBytes)), "The team's name, for people."),
            .optional("teamID", team, "Your own; without it the service chooses one."),
        ])
    static let teamMade = named("TeamMade", [.required("teamID", team)])
    static let shownTeam = named(
        "Team",
        [
            .required("teamID", team), .required("name", text), .required("bundleIDs", .array(bundleID)),
            .required("keyIDs", .array(key)),
            .required("serials", .array(serial), "The serial numbers of its certificates."),
        ])
    static let newApp = named(
        "NewApp", [.required("team", team), .required("bundleID", bundleID), broadcast])
    static let appChange = named("AppChange", [broadcast])
    private static let broadcast = Schema.Member.optional(
        "broadcast", .boolean,
        "Whether the app may have broadcast channels; true if it is missing in a new app. If it becomes false, its channels are deleted."
    )
    static let appMade = named(
        "AppMade", [.required("bundleID", bundleID), .required("topics", .array(text))])
    static let app = named(
        "App",
        [
            .required("bundleID", bundleID), .required("teamID", team),
            .required(
                "topics", .array(text),
                "The topics of a certificate for the app. A provider token may also send to the topics of other push types."
            ),
            .required("broadcast", .boolean, "Whether the app may have broadcast channels."),
            .optional(
                "upstreams",
                .array(
                    .object([
                        .required("environment", environment), .required("url", .string(.line(maximumBytes: 300))),
                    ])), "Where its notifications are forwarded to; missing if they are delivered here."),
        ])

    // MARK: Keys

    static let newKey = named(
        "NewKey",
        [
            .required("team", team), .optional("keyID", key, "Your own; without it the service chooses one."),
            .optional(
                "publicKey", text,
                "The public half of your key (P-256): in PEM, or the uncompressed point in Base64. Without a key the "
                    + "service makes one."),
            .optional("privateKey", .string(.pem), "Your key (P-256) in PEM. The service keeps only its public half."),
            .optional("environment", environment, "The only environment that the key is for; without it, both."),
            .optional(
                "bundleIDs", .array(bundleID, count: 1...TeamKey.maximumBundleIDs),
                "The only apps that the key is for; without it, all of the team's."),
        ])
    static let keyMade = named(
        "KeyMade",
        [
            .required("keyID", key),
            .optional("privateKey", text, "In PEM, if the service made the key; shown this once."),
        ])
    static let keyRevoked = named("KeyRevoked", [.required("keyID", key)])
    static let shownKey = named(
        "Key",
        [
            .required("keyID", key), .required("teamID", team), .required("environments", .array(environment)),
            .optional("bundleIDs", .array(bundleID)), .optional("revoked", moment),
        ])

    // MARK: Certificates

    static let newCertificate = named(
        "NewCertificate",
        [
            .required("team", team), .required("bundleID", bundleID),
            .required(
                "environment", .string(.oneOf(Environment.allCases.map(\.rawValue) + [universal])),
                "universal: for both."),
            .optional(
                "request", .string(.pem),
                "A certificate signing request (PKCS#10) in PEM, of which only the public key is taken; without it the "
                    + "service makes a key."),
            .optional("listsTopics", .boolean, "false: the only topic is the UID of the certificate's subject."),
            .optional(
                "format", .string(.oneOf(CertificateFormat.allCases.map(\.rawValue))),
                "p12 adds PKCS#12, for a key that the service makes."),
            .optional("passphrase", text, "The passphrase of the PKCS#12, which needs one."),
        ])
    /// The value for a certificate that is valid in both environments.
    static let universal = "universal"
    static let certificateMade = named(
        "CertificateMade",
        [
            .required("serial", serial), .required("topics", .array(text)),
            .required("chain", text, "The certificate and its intermediate in PEM."),
            .optional("privateKey", text, "In PEM, if the service made the key; shown this once."),
            .optional("p12", text, "PKCS#12 in Base64, if it was asked for."),
        ])
    static let certificateRevoked = named("CertificateRevoked", [.required("serial", serial)])
    static let certificate = named(
        "Certificate",
        [
            .required("serial", serial), .required("teamID", team), .required("bundleID", bundleID),
            .required("environments", .array(environment)), .required("validUntil", moment),
            .optional("revoked", moment),
        ])

    // MARK: Devices and administrators

    static let newInvitation = named("NewInvitation", [.required("environment", environment)])
    private static let invitationID = Schema.string(.invitationID)
    static let invitationMade = named(
        "InvitationMade",
        [
            .required("code", text, "The one-time activation code; shown this once."),
            .required("id", invitationID, "The invitation's ID: SHA-256 of the code."),
            .required("expires", moment),
        ])
    static let invitation = named(
        "Invitation",
        [.required("id", invitationID), .required("environment", environment), .required("expires", moment)])
    static let revokedDevice = named(
        "RevokedDevice",
        [
            .required("deviceID", .string(.deviceID)), .required("environments", .array(environment)),
            .required(
                "registrations", .integer(0...Int64.max), "How many registrations ended; 0 if there is no such device."),
        ])
    static let tokenKey = named("TokenKey", [.required("tokenKeyID", .integer(1...Int64(TokenKeys.maximumCount)))])
    static let administratorMade = named(
        "AdministratorMade",
        [
            .required("serial", serial),
            .required("identity", text, "The key, the certificate and its intermediate, PEM; shown this once."),
            .required("validUntil", moment),
        ])
    static let administratorRevoked = named("AdministratorRevoked", [.required("serial", serial)])
    static let administrator = named(
        "Administrator",
        [
            .required("serial", serial),
            .optional("made", moment, "Missing if the certificate was not listed until its revocation."),
            .required("validUntil", moment), .optional("revoked", moment),
        ])
    static let nothing = Schema.object([])

    // MARK: The service

    static let status = named("Status", [.required("status", text)])
    static let anything = Schema.named("OpenAPI", .openObject)
}
