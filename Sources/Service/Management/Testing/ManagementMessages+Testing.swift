package import Notifications

// The messages of the API's operations for tests, documented in docs/testing.md.
extension ManagementMessages {
    package struct Journal: Codable, Sendable {
        package var keep: Int
        package init(keep: Int) { self.keep = keep }
    }

    package struct DeletedRequests: Codable, Sendable {
        package var deleted: Int
    }

    package struct Wait: Codable, Sendable {
        package var match: JSONValue?
        package var count: Int?
        /// How long to wait: a duration of ISO 8601.
        package var timeout: String?
        package init(match: JSONValue? = nil, count: Int? = nil, timeout: String? = nil) {
            self.match = match
            self.count = count
            self.timeout = timeout
        }
    }

    /// A notification to send, with the same keys as a line of `carillon send --batch`.
    package struct NewNotification: Codable, Sendable {
        package var token: String
        package var topic: String
        package var payload: JSONValue
        package var id: String?
        package var expiration: Int64?
        package var priority: Int?
        package var collapseID: String?
        package var pushType: String?
    }

    /// The answer that a provider would have got.
    package struct NotificationSent: Codable, Sendable {
        package var status: Int
        /// Nil if the notification was only checked.
        package var apnsID: String?
        package var reason: String?
        package var timestamp: UInt64?
        package var detail: String?
        /// The size of the payload, and the largest allowed for the topic. Present if the notification was only
        /// checked.
        package var bytes: Int?
        package var maximumBytes: Int?
        /// The answer of a service with `--conformance strict`. Present if the notification was only checked and such
        /// a service would refuse it.
        package var strict: StrictRefusal?

        init(status: Int, apnsID: String? = nil) {
            self.status = status
            self.apnsID = apnsID
        }
    }

    package struct StrictRefusal: Codable, Sendable {
        package var status: Int
        package var reason: String
        package var detail: String?
    }

    // MARK: Devices

    package struct Behaviour: Codable, Sendable, Hashable {
        package var kind: String
        /// The delay of the behaviour `slow`: a duration of ISO 8601.
        package var delay: String?
        /// When the app was removed, for the behaviour `removed`: milliseconds since 1970.
        package var since: UInt64?
        package init(kind: String, delay: String? = nil, since: UInt64? = nil) {
            self.kind = kind
            self.delay = delay
            self.since = since
        }
    }

    package struct ChangedDevice: Codable, Sendable {
        package var behaviour: Behaviour?
        package var power: String?
        /// The identifiers of the channels to which each app is subscribed, by bundle ID. Other apps keep theirs.
        package var channels: [String: [String]]?
        package init(behaviour: Behaviour? = nil, power: String? = nil, channels: [String: [String]]? = nil) {
            self.behaviour = behaviour
            self.power = power
            self.channels = channels
        }
    }

    package struct Device: Codable, Sendable {
        package var deviceID: String
        package var name: String?
        package var environment: String
        package var virtual: Bool
        package var connected: Bool
        /// When a real device connected, or when a virtual device got its behaviour, in milliseconds since 1970. Nil
        /// for a real device that is not connected.
        package var since: UInt64?
        package var power: String?
        /// The software that the device has reported, with its version.
        package var software: String?
        /// When this node last saw the device, in milliseconds since 1970. Nil while it is connected, and if it was not
        /// connected to this node since its start.
        package var lastSeen: UInt64?
        package var behaviour: Behaviour?
        package var apps: [DeviceApp]
        /// The identifiers of the channels to which its apps are subscribed, by bundle ID. Apps without any are left out.
        package var channels: [String: [String]]
    }

    package struct DeviceApp: Codable, Sendable {
        package var bundleID: String
        package var token: String
        /// How many notifications wait: the one in the app's mailbox, and those held back while the device's power is
        /// low.
        package var waiting: Int
    }

    // MARK: Fixtures

    package struct Fixture: Codable, Sendable {
        package var teams: [FixtureTeam]?
        package var service: JSONValue?
    }

    package struct FixtureTeam: Codable, Sendable {
        package var teamID: String?
        package var name: String?
        package var apps: [String]?
        package var keys: [FixtureKey]?
        package var certificates: [FixtureCertificate]?
        package var devices: [FixtureDevice]?
    }

    package struct FixtureKey: Codable, Sendable {
        package var keyID: String?
        /// The private key in PEM.
        package var privateKey: String?
        package var environment: String?
        package init() {}
    }

    package struct FixtureCertificate: Codable, Sendable {
        package var bundleID: String?
        package var environment: String?
        package var format: String?
        package var passphrase: String?
        package var serial: String?
        package var topics: [String]?
        package var chain: String?
        package var privateKey: String?
        /// The PKCS#12 bundle in Base64.
        package var p12: String?
    }

    package struct FixtureDevice: Codable, Sendable {
        package var team: String?
        package var deviceID: String?
        package var name: String?
        package var environment: String?
        package var apps: [String]?
        package var behaviour: Behaviour?
        package var power: String?
        package var tokens: [String: String]?
        /// The identifiers of the channels to which each app is subscribed, by bundle ID. Only for a device that joins a
        /// team, because the apps of a fixture have no channels yet.
        package var channels: [String: [String]]?
    }
}
