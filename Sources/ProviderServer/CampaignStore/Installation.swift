package import Notifications

/// One app on one device. The app and the backend describe it.
///
/// The app chooses the identifier, which stays the same when the device token changes.
package struct Installation: Sendable, Hashable {
    package var id: String
    /// The device token in lower-case hexadecimal digits.
    package var deviceToken: String
    package var environment: Environment
    /// The user's preferred languages as BCP 47 tags, such as `sv-SE`. The preferred one is the first.
    package var languages: [String] = []
    /// The name of a time zone in the time zone database, such as `Europe/Stockholm`.
    package var timeZone: String?
    package var user: String?
    /// The tags in alphabetical order, without duplicates.
    package var tags: [String] = []
    package var appVersion: String?
    /// The recipient's values for the names in templates.
    package var values: [String: JSONValue] = [:]
    /// When the app last registered its device token. A 410 with an earlier time is about an older registration, and is
    /// ignored (Guide, Table 8-5).
    package var registered: Timestamp
    package var changed: Timestamp
    /// The end of the installation; nil while it can receive notifications.
    package var end: End?

    /// Why and when an installation ended. It receives no more notifications.
    package struct End: Sendable, Hashable {
        package var at: Timestamp
        package var reason: String

        /// The reason of an installation whose device token another installation has registered.
        package static let replaced = "replaced"
        /// The reason of an installation whose device token the feedback service has reported (Guide, 3.1.3).
        package static let feedback = "feedback"

        package init(at: Timestamp, reason: String) {
            self.at = at
            self.reason = reason
        }
    }
}

extension Installation {
    package init(
        id: String,
        deviceToken: String,
        environment: Environment,
        registered: Timestamp,
    ) {
        self.init(
            id: id, deviceToken: deviceToken, environment: environment, registered: registered, changed: registered)
    }
}

/// An installation with the data that only the store uses.
package struct StoredInstallation: Sendable, Hashable {
    package var installation: Installation
    /// SHA-256 of the secret that the app presents with every change; nil if the backend made the installation.
    package var secretDigest: [UInt8]?

    package init(_ installation: Installation, secretDigest: [UInt8]?) {
        self.installation = installation
        self.secretDigest = secretDigest
    }
}

/// The result of changing an installation.
package enum InstallationChange: Sendable {
    case put(StoredInstallation)
    case delete
    /// The installation is not changed.
    case keep
}
