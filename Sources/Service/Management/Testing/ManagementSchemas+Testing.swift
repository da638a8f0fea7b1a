import Delivery
import HTTPAPI
import Journal
import Notifications
import Trust
import VirtualDevices

// The schemas of the API's messages for tests.
extension ManagementSchemas {
    private static let text = Schema.string(.any)
    private static let moment = Schema.integer(0...Int64.max)
    private static let name = Schema.string(.line(maximumBytes: Team.maximumNameBytes))
    private static let development = Schema.string(.oneOf([Environment.development.rawValue]))

    private static func named(_ name: String, _ members: [Schema.Member]) -> Schema { .named(name, .object(members)) }

    // MARK: The journal

    static let journal = named(
        "Journal",
        [
            .required(
                "keep", .integer(0...Int64(JournalLimits.requests)), "How many requests are kept; 0 switches it off.")
        ])
    static let deletedRequests = named("DeletedRequests", [.required("deleted", moment)])
    static let wait = named(
        "Wait",
        [
            .optional("match", .openObject, "Which requests; all without it."),
            .optional(
                "count", .integer(0...Int64(JournalLimits.requests)),
                "How many at least, 1 without it; 0 waits to the end and wants none."),
            .optional("timeout", text, "How long at most, as in PT5S, which it is without it."),
        ])
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

    // MARK: Notifications

    static let newNotification = named(
        "NewNotification",
        [
            .required("token", text), .required("topic", text), .required("payload", .openObject),
            .optional("id", text), .optional("expiration", moment), .optional("priority", .integer(0...255)),
            .optional("collapseID", text), .optional("pushType", text),
        ])
    static let notificationSent = named(
        "NotificationSent",
        [
            .required("status", .integer(200...599), "What a provider would have been answered."),
            .optional("apnsID", text, "Missing with dryRun."), .optional("reason", text),
            .optional("timestamp", moment), .optional("detail", text),
            .optional("bytes", moment, "With dryRun: the size of the payload."),
            .optional("maximumBytes", moment, "With dryRun: the largest size for the topic, if it leads to an app."),
            .optional(
                "strict",
                named(
                    "StrictRefusal",
                    [
                        .required("status", .integer(400...599)), .required("reason", text),
                        .optional("detail", text),
                    ]), "With dryRun: what the conformance strict would answer, if it would refuse it."),
        ])

    // MARK: Devices

    static let behaviour = named(
        "Behaviour",
        [
            .required("kind", .string(.oneOf(DeviceBehaviour.Kind.allCases.map(\.rawValue)))),
            .optional("delay", text, "For slow: how long it takes, as in PT0.5S."),
            .optional("since", moment, "For removed: since when; since now without it."),
        ])
    static let changedDevice = named(
        "ChangedDevice",
        [
            .optional("behaviour", behaviour),
            .optional("power", power, "What it reports while it is connected."),
            .optional(
                "channels", .openObject,
                "The IDs of the broadcast channels of its apps, in an array for each bundle ID. They take the place of the "
                    + "app's earlier ones."),
        ])
    private static let power = Schema.string(.oneOf(DevicePower.allCases.map(\.rawValue)))
    static let device = named(
        "Device",
        [
            .required("deviceID", .string(.deviceID)), .optional("name", text),
            .required("environment", .string(.environment)), .required("virtual", .boolean),
            .required("connected", .boolean),
            .optional("since", moment, "Since when it is connected, or a virtual one is as it is."),
            .optional("power", power, "Of one that is connected."),
            .optional("software", text, "What the device has said of its software since this node started."),
            .optional(
                "lastSeen", moment, "When one that is not connected was last connected to this node, since it started."),
            .optional("behaviour", behaviour, "Of a virtual one."),
            .required(
                "apps",
                .array(
                    named(
                        "DeviceApp",
                        [
                            .required("bundleID", .string(.bundleID)), .required("token", text),
                            .required("waiting", moment, "How many notifications wait for the device."),
                        ]))),
            .required(
                "channels", .openObject,
                "The IDs of the broadcast channels to which its apps are subscribed, in an array for each bundle ID."),
        ])
    private static let deviceMembers: [Schema.Member] = [
        .optional("name", name), .optional("environment", development),
        .optional(
            "apps", .array(.string(.bundleID), count: 0...VirtualDeviceLimits.apps), "All of the team's without it."),
        .optional("behaviour", behaviour, "online without it."),
        .optional("power", power, "charging without it."),
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
            .optional(
                "environment", .string(.oneOf(Environment.allCases.map(\.rawValue) + [universal])),
                "universal without it."),
            .optional("format", .string(.oneOf(CertificateFormat.allCases.map(\.rawValue))), "p12 adds PKCS#12."),
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
