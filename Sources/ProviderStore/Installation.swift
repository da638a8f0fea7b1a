package import Notifications

/// One app on one device, as the app itself and the backend describe it.
///
/// The identifier is the app's own choice and stays the same when the device token changes.
package struct Installation: Sendable, Hashable {
    package var id: String
    /// In lower-case hexadecimal digits.
    package var deviceToken: String
    package var environment: Environment
    /// The user's preferred languages, the first one first: BCP 47, such as `sv-SE`.
    package var languages: [String] = []
    /// An identifier of the time zone database, such as `Europe/Stockholm`.
    package var timeZone: String?
    package var user: String?
    /// In alphabetical order, each one once.
    package var tags: [String] = []
    package var appVersion: String?
    /// What a template may say of this recipient, by name.
    package var values: [String: JSONValue] = [:]
    /// When the app last handed over its device token. A 410 with an earlier time is about an older registration
    /// (Guide, Table 8-5).
    package var registered: Timestamp
    package var changed: Timestamp
    /// Nil while notifications may be sent to it.
    package var end: End?

    /// Why and when nothing may be sent to an installation any more.
    package struct End: Sendable, Hashable {
        package var at: Timestamp
        package var reason: String

        /// Another installation has the same device token now.
        package static let replaced = "replaced"

        package init(at: Timestamp, reason: String) {
            self.at = at
            self.reason = reason
        }
    }

    package init(
        id: String,
        deviceToken: String,
        environment: Environment,
        registered: Timestamp,
    ) {
        self.id = id
        self.deviceToken = deviceToken
        self.environment = environment
        self.registered = registered
        changed = registered
    }
}

/// An installation as the store keeps it.
package struct StoredInstallation: Sendable, Hashable {
    package var installation: Installation
    /// SHA-256 of the secret that the app presents with every change; nil if the backend made the installation.
    package var secretDigest: [UInt8]?

    package init(_ installation: Installation, secretDigest: [UInt8]?) {
        self.installation = installation
        self.secretDigest = secretDigest
    }
}

/// What a change makes of an installation.
package enum InstallationChange: Sendable {
    case put(StoredInstallation)
    case delete
    /// It stays as it is.
    case keep
}
