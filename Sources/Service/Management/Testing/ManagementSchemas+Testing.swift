import Delivery
import HTTPAPI
import Journal
import Notifications
import Trust
import VirtualDevices

// The schemas of the API's answers and fixtures for tests.
extension ManagementSchemas {
    private static let text = Schema.string(.any)
    private static let moment = Schema.integer(0...Int64.max)
    private static let name = Schema.string(.teamName)
    private static let development = Schema.string(.oneOf([Environment.development.rawValue]))

    private static func named(_ name: String, _ members: [Schema.Member]) -> Schema { .named(name, .object(members)) }

    static let waited = named("Waited", [.required("requests", .array(.openObject))])
    static let waitedInVain = named(
        "WaitedInVain",
        [
            .required("matched", moment, "How many requests match."),
            .required(
                "nearest",
                .array(
                    named(
                        "NearMiss",
                        [
                            .required("request", .openObject),
                            .required("differs", .array(text), "The keys of the match that differ."),
                        ])), "The requests that differ least."),
        ])

    private static let deviceMembers: [Schema.Member] = [
        .optional("name", name), .optional("environment", development),
        .optional(
            "apps", .array(.string(.bundleID), count: 0...VirtualDeviceLimits.apps), "All of the team's without it."),
        .optional("behaviour", ManagementMessages.Behaviour.schema, "online without it."),
        .optional("power", .string(.power), "charging without it."),
        .optional(
            "tokens", .openObject, "The device tokens of its apps and their services, by topic, in hexadecimal digits."),
    ]
    static let newDevice = named(
        "NewDevice",
        [.required("team", .string(.accountID))] + deviceMembers + [
            .optional(
                "channels", .openObject,
                "The IDs of the broadcast channels to which its apps are subscribed, in an array for each bundle ID.")
        ])

    // MARK: Fixtures

    static let fixture = named(
        "Fixture", [.optional("teams", .array(fixtureTeam, count: 0...FixtureLimits.teams))])
    static let completedFixture = named(
        "CompletedFixture",
        [
            .required("teams", .array(.openObject), "With every identifier, key, certificate and token."),
            .required("service", .openObject, "The addresses, and the authority in PEM."),
        ])
    private static let fixtureTeam = named(
        "FixtureTeam",
        [
            .optional("teamID", .string(.accountID)), .optional("name", name),
            .optional("apps", .array(.string(.bundleID), count: 0...FixtureLimits.apps)),
            .optional("keys", .array(fixtureKey, count: 0...FixtureLimits.keys), "Without it the team gets one."),
            .optional("certificates", .array(fixtureCertificate, count: 0...FixtureLimits.certificates)),
            .optional(
                "devices", .array(named("FixtureDevice", deviceMembers), count: 0...VirtualDeviceLimits.devices)),
        ])
    private static let fixtureKey = named(
        "FixtureKey",
        [
            .optional("keyID", .string(.accountID)), .optional("privateKey", .string(.pem), "P-256, in PEM."),
            .optional("environment", .string(.environment), "Both without it."),
        ])
    private static let fixtureCertificate = named(
        "FixtureCertificate",
        [
            .optional("bundleID", .string(.bundleID), "May be left out if the team has one app."),
            .optional("environment", .string(.certificateEnvironment), "universal without it."),
            .optional("format", .string(.certificateFormat), "p12 adds PKCS#12."),
            .optional("passphrase", .string(.any), "Of the PKCS#12, which needs one."),
        ])
}

/// The file format in which a certificate is handed out.
enum CertificateFormat: String, CaseIterable {
    case pem
    /// PKCS#12 (RFC 7292), as many client libraries want it.
    case p12
}

/// The limits of one fixture, each higher than a test suite needs.
package enum FixtureLimits {
    package static let teams = 100
    package static let apps = 100
    package static let keys = 100
    /// The certificate authority has to sign each of them, which takes time.
    package static let certificates = 100
}
