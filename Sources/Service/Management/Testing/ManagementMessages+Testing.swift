import Delivery
package import HTTPAPI
import Journal
package import Notifications
import VirtualDevices

// The messages of the API's operations for tests, documented in docs/testing.md.
extension ManagementMessages {
    package struct Journal: JSONMessage {
        package let keep: Int

        package static let form: JSONForm<Journal> = .object(
            "Journal", Journal.init,
            .required(
                "keep", .integer(to: JournalLimits.requests), \.keep,
                "How many requests are kept; 0 switches it off."))
    }

    package struct DeletedRequests: JSONMessage {
        package let deleted: Int

        package static let form: JSONForm<DeletedRequests> = .object(
            "DeletedRequests", DeletedRequests.init, .required("deleted", .integer(), \.deleted))
    }

    package struct Wait: JSONMessage {
        package let match: JSONValue?
        package let count: Int?
        package let timeout: String?

        package init(match: JSONValue? = nil, count: Int? = nil, timeout: String? = nil) {
            (self.match, self.count, self.timeout) = (match, count, timeout)
        }

        package static let form: JSONForm<Wait> = .object(
            "Wait", Wait.init,
            .optional("match", .json(.openObject), \.match, "Which requests; all without it."),
            .optional(
                "count", .integer(to: JournalLimits.requests), \.count,
                "How many at least, 1 without it; 0 waits to the end and wants none."),
            .optional("timeout", .text(.any), \.timeout, "How long at most, as in PT5S, which it is without it."))
    }

    /// A notification to send, with the same keys as a line of `carillon send --batch`.
    package struct NewNotification: JSONMessage {
        package let token: String
        package let topic: String
        package let payload: JSONValue
        package let id: String?
        package let expiration: Int64?
        package let priority: Int?
        package let collapseID: String?
        package let pushType: String?

        package static let form: JSONForm<NewNotification> = .object(
            "NewNotification", NewNotification.init,
            .required("token", .text(.any), \.token), .required("topic", .text(.any), \.topic),
            .required("payload", .json(.openObject), \.payload), .optional("id", .text(.any), \.id),
            .optional("expiration", .integer(), \.expiration), .optional("priority", .integer(to: 255), \.priority),
            .optional("collapseID", .text(.any), \.collapseID), .optional("pushType", .text(.any), \.pushType))
    }

    /// The answer that a provider would have got.
    package struct NotificationSent: JSONMessage {
        package var status: Int
        package var apnsID: String?
        package var reason: String?
        package var timestamp: UInt64?
        package var detail: String?
        package var bytes: Int?
        package var maximumBytes: Int?
        package var strict: StrictRefusal?

        package static let form: JSONForm<NotificationSent> = .object(
            "NotificationSent", NotificationSent.init,
            .required("status", .integer(from: 200, to: 599), \.status, "What a provider would have been answered."),
            .optional("apnsID", .text(.any), \.apnsID, "Missing with dryRun."),
            .optional("reason", .text(.any), \.reason), .optional("timestamp", .integer(), \.timestamp),
            .optional("detail", .text(.any), \.detail),
            .optional("bytes", .integer(), \.bytes, "With dryRun: the size of the payload."),
            .optional(
                "maximumBytes", .integer(), \.maximumBytes,
                "With dryRun: the largest size for the topic, if it leads to an app."),
            .optional(
                "strict", StrictRefusal.form, \.strict,
                "With dryRun: what the conformance strict would answer, if it would refuse it."))
    }

    package struct StrictRefusal: JSONMessage {
        package let status: Int
        package let reason: String
        package let detail: String?

        package static let form: JSONForm<StrictRefusal> = .object(
            "StrictRefusal", StrictRefusal.init,
            .required("status", .integer(from: 400, to: 599), \.status), .required("reason", .text(.any), \.reason),
            .optional("detail", .text(.any), \.detail))
    }

    // MARK: Devices

    package struct Behaviour: JSONMessage, Hashable {
        package let kind: String
        package let delay: String?
        package let since: UInt64?

        package init(kind: String, delay: String? = nil, since: UInt64? = nil) {
            (self.kind, self.delay, self.since) = (kind, delay, since)
        }

        package static let form: JSONForm<Behaviour> = .object(
            "Behaviour", Behaviour.init(kind:delay:since:),
            .required("kind", .text(.behaviour), \.kind),
            .optional("delay", .text(.any), \.delay, "For slow: how long it takes, as in PT0.5S."),
            .optional("since", .integer(), \.since, "For removed: since when; since now without it."))
    }

    package struct ChangedDevice: JSONMessage {
        package let behaviour: Behaviour?
        package let power: String?
        /// Apps that are not named keep their channels.
        package let channels: [String: [String]]?

        package init(behaviour: Behaviour? = nil, power: String? = nil, channels: [String: [String]]? = nil) {
            (self.behaviour, self.power, self.channels) = (behaviour, power, channels)
        }

        package static let form: JSONForm<ChangedDevice> = .object(
            "ChangedDevice", ChangedDevice.init,
            .optional("behaviour", Behaviour.form, \.behaviour),
            .optional("power", .text(.power), \.power, "What it reports while it is connected."),
            .optional(
                "channels", .dictionary(of: .list(of: .text(.any))), \.channels,
                """
                The IDs of the broadcast channels of its apps, in an array for each bundle ID. They take the place of the \
                app's earlier ones.
                """))
    }

    package struct Device: JSONMessage {
        package let deviceID: String
        package var name: String?
        package let environment: String
        package let virtual: Bool
        package let connected: Bool
        package let since: UInt64?
        package let power: String?
        package var software: String?
        package var lastSeen: UInt64?
        package var behaviour: Behaviour?
        package let apps: [DeviceApp]
        package let channels: [String: [String]]
        package var subscriptions: [DeviceSubscription]?

        package static let form: JSONForm<Device> = .object(
            "Device", Device.init,
            .required("deviceID", .text(.deviceID), \.deviceID), .optional("name", .text(.any), \.name),
            .required("environment", .text(.environment), \.environment), .required("virtual", .boolean, \.virtual),
            .required("connected", .boolean, \.connected),
            .optional(
                "since", .integer(), \.since, "Since when it is connected, or a virtual one is as it is."),
            .optional("power", .text(.power), \.power, "Of one that is connected."),
            .optional(
                "software", .text(.any), \.software,
                "What the device has said of its software since this node started."),
            .optional(
                "lastSeen", .integer(), \.lastSeen,
                "When one that is not connected was last connected to this node, since it started."),
            .optional("behaviour", Behaviour.form, \.behaviour, "Of a virtual one."),
            .required("apps", .list(of: DeviceApp.form), \.apps),
            .required(
                "channels", .dictionary(of: .list(of: .text(.any))), \.channels,
                "The IDs of the broadcast channels to which its apps are subscribed, in an array for each bundle ID."),
            .optional(
                "subscriptions", .list(of: DeviceSubscription.form), \.subscriptions,
                "The Web Push subscriptions of a virtual one."))
    }

    package struct DeviceApp: JSONMessage {
        package let bundleID: String
        package let token: String
        package let waiting: Int

        package static let form: JSONForm<DeviceApp> = .object(
            "DeviceApp", DeviceApp.init,
            .required("bundleID", .text(.bundleID), \.bundleID), .required("token", .text(.any), \.token),
            .required("waiting", .integer(), \.waiting, "How many notifications wait for the device."))
    }

    // MARK: Fixtures

    // The forms are those of requests. The completed document of the answer has more members, and no form.

    package struct Fixture: Codable, Sendable {
        package var teams: [FixtureTeam]?
        package var service: JSONValue?

        package init(teams: [FixtureTeam]? = nil) { self.teams = teams }

        package static let form: JSONForm<Fixture> = .object(
            "Fixture", Fixture.init(teams:),
            .optional("teams", .list(of: FixtureTeam.form, to: FixtureLimits.teams), \.teams))
    }

    package struct FixtureTeam: Codable, Sendable {
        package var teamID: String?
        package var name: String?
        package var apps: [FixtureApp]?
        package var keys: [FixtureKey]?
        package var certificates: [FixtureCertificate]?
        package var devices: [FixtureDevice]?

        static let form: JSONForm<FixtureTeam> = .object(
            "FixtureTeam", FixtureTeam.init(teamID:name:apps:keys:certificates:devices:),
            .optional("teamID", .text(.accountID), \.teamID), .optional("name", .text(.teamName), \.name),
            .optional("apps", .list(of: FixtureApp.form, to: FixtureLimits.apps), \.apps),
            .optional(
                "keys", .list(of: FixtureKey.form, to: FixtureLimits.keys), \.keys, "Without it the team gets one."),
            .optional(
                "certificates", .list(of: FixtureCertificate.form, to: FixtureLimits.certificates), \.certificates),
            .optional("devices", .list(of: FixtureDevice.form, to: VirtualDeviceLimits.devices), \.devices))
    }

    /// An app: its bundle ID, or an object that says how many notifications it keeps as well.
    package struct FixtureApp: JSONMessage {
        package let bundleID: String
        package let keep: Int?

        package init(bundleID: String, keep: Int? = nil) { (self.bundleID, self.keep) = (bundleID, keep) }

        package static let form: JSONForm<FixtureApp> = .text(
            .bundleID,
            or: .object(
                "FixtureApp", FixtureApp.init(bundleID:keep:),
                .required("bundleID", .text(.bundleID), \.bundleID),
                .optional("keep", formOfKeep, \.keep, meaningOfKeep)),
            value: { FixtureApp(bundleID: $0) }, text: { $0.keep == nil ? $0.bundleID : nil })
    }

    package struct FixtureKey: Codable, Sendable {
        package var keyID: String?
        package var privateKey: String?
        package var environment: String?

        static let form: JSONForm<FixtureKey> = .object(
            "FixtureKey", FixtureKey.init,
            .optional("keyID", .text(.accountID), \.keyID),
            .optional("privateKey", .text(.pem), \.privateKey, "P-256, in PEM."),
            .optional("environment", .text(.environment), \.environment, "Both without it."))
    }

    package struct FixtureCertificate: Codable, Sendable {
        package var bundleID: String?
        package var environment: String?
        package var includesChain: Bool?
        package var format: String?
        package var passphrase: String?
        package var serial: String?
        package var topics: [String]?
        package var chain: String?
        package var privateKey: String?
        /// The PKCS#12 bundle in Base64.
        package var p12: String?

        static let form: JSONForm<FixtureCertificate> = .object(
            "FixtureCertificate",
            { FixtureCertificate(bundleID: $0, environment: $1, includesChain: $2, format: $3, passphrase: $4) },
            .optional("bundleID", .text(.bundleID), \.bundleID, "May be left out if the team has one app."),
            .optional("environment", .text(.certificateEnvironment), \.environment, "universal without it."),
            .optional("includesChain", .boolean, \.includesChain, ManagementMessages.meaningOfIncludesChain),
            .optional("format", .text(.certificateFormat), \.format, "p12 adds PKCS#12."),
            .optional("passphrase", .text(.any), \.passphrase, "Of the PKCS#12, which needs one."))
    }

    package struct FixtureDevice: Codable, Sendable {
        package var deviceID: String?
        package var name: String?
        package var environment: String?
        package var apps: [String]?
        package var behaviour: Behaviour?
        package var power: String?
        package var tokens: [String: String]?
        package var subscriptions: [FixtureSubscription]?

        static let form: JSONForm<FixtureDevice> = .object(
            "FixtureDevice",
            {
                FixtureDevice(
                    name: $0, environment: $1, apps: $2, behaviour: $3, power: $4, tokens: $5, subscriptions: $6)
            },
            .optional("name", .text(.teamName), \.name),
            .optional("environment", .text(.oneOf([Environment.development.rawValue])), \.environment),
            .optional(
                "apps", .list(of: .text(.bundleID), to: VirtualDeviceLimits.apps), \.apps,
                "All of the team's without it."),
            .optional("behaviour", Behaviour.form, \.behaviour, "online without it."),
            .optional("power", .text(.power), \.power, "charging without it."),
            .optional(
                "tokens", .dictionary(of: .text(.any)), \.tokens,
                "The device tokens of its apps and their services, by topic, in hexadecimal digits."),
            .optional(
                "subscriptions", .list(of: FixtureSubscription.form, to: FixtureLimits.subscriptions), \.subscriptions,
                "The Web Push subscriptions of its apps."))
    }

    /// A device that joins a team. Only this one may have channels, because the apps of a fixture have none yet.
    package struct NewDevice: JSONMessage {
        let team: String
        let device: FixtureDevice
        let channels: [String: [String]]?

        package init(team: String, device: FixtureDevice, channels: [String: [String]]? = nil) {
            (self.team, self.device, self.channels) = (team, device, channels)
        }

        package static let form: JSONForm<NewDevice> = .object(
            "NewDevice", NewDevice.init,
            .required("team", .text(.accountID), \.team), .members(of: FixtureDevice.form, \.device),
            .optional(
                "channels", .dictionary(of: .list(of: .text(.any))), \.channels,
                "The IDs of the broadcast channels to which its apps are subscribed, in an array for each bundle ID."))
    }
}

extension ManagementMessages.FixtureTeam {
    package init(name: String, apps: [String], devices: [ManagementMessages.FixtureDevice]) {
        self.init(
            teamID: nil, name: name, apps: apps.map { ManagementMessages.FixtureApp(bundleID: $0) }, devices: devices)
    }
}

extension ManagementMessages.FixtureDevice {
    package init(
        name: String,
        behaviour: ManagementMessages.Behaviour,
        tokens: [String: String]? = nil,
        subscriptions: [ManagementMessages.FixtureSubscription]? = nil,
    ) {
        self.init(deviceID: nil, name: name, behaviour: behaviour, tokens: tokens, subscriptions: subscriptions)
    }
}

extension TextFormat {
    static let power = oneOf(DevicePower.allCases.map(\.rawValue))
    fileprivate static let behaviour = oneOf(DeviceBehaviour.Kind.allCases.map(\.rawValue))
}
