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
    /// The tags that the backend set, in alphabetical order, without duplicates.
    package var tags: [String] = []
    /// The tags that the app set, in the same order. Nil if the app has not set any since the two were told apart: then
    /// ``tags`` may have some of the app's.
    package var appTags: [String]?
    package var appVersion: String?
    /// The values for the names in templates that the backend set.
    package var values: JSONMembers = [:]
    /// The values that the app set. Those of the backend come before them.
    package var appValues: JSONMembers = [:]
    /// The device tokens of the app's services.
    package var tokens = ServiceTokens()
    /// The number on the app's icon, as the last message that counts has set it, or the app.
    package var badge: Int64 = 0
    /// When the app last registered its device token. A 410 with an earlier time is about an older registration, and is
    /// ignored (Guide, Table 8-5).
    package var registered: Timestamp
    /// When the installation was added. The store keeps the earliest time.
    package var created: Timestamp
    package var changed: Timestamp
    /// The end of the installation; nil while it can receive notifications.
    package var end: End?

    /// The most digits of a number among the values. A payload has 4,096 bytes.
    package static let numberDigits = Payload.maximumBytes
    /// The largest power of ten of a number among the values. PostgreSQL refuses to compare numbers with more than 16,383
    /// digits after the point, and one such value would fail every audience that compares values.
    package static let numberPower = 10_000

    /// Whether a number may be a value, or be compared with one.
    package static func allows(_ number: JSONNumber) -> Bool {
        number.isWithin(digits: numberDigits, power: numberPower)
    }

    /// Whether a text has the characters of a language tag. Some systems write underscores in place of hyphens.
    package static func isLanguage(_ text: String) -> Bool {
        !text.isEmpty
            && text.utf8.allSatisfy { $0.isLetterOrDigit || $0 == UInt8(ascii: "-") || $0 == UInt8(ascii: "_") }
    }

    /// The longest tag, in bytes, the same as at Azure.
    package static let maximumTagBytes = 120

    package static func isTag(_ text: String) -> Bool {
        (1...maximumTagBytes).contains(text.utf8.count) && text.utf8.allSatisfy(isTagByte)
    }

    /// Whether a byte may be in a tag. White space and the characters of operators may not.
    static func isTagByte(_ byte: UInt8) -> Bool { byte.isLetterOrDigit || "_-.:@#".utf8.contains(byte) }

    /// The largest number on an app's icon. A device shows five digits.
    package static let maximumBadge: Int64 = 99_999

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
    /// The recipient's values for the names in templates.
    package var allValues: JSONMembers { appValues.isEmpty ? values : appValues.merging(values) }

    /// Returns a device token in lower-case hexadecimal digits; nil if the installation has none for the service.
    /// - Parameter place: whose device token; nil for the app's own.
    package func token(_ place: ServiceTokens.Place?) -> String? {
        guard let place else { return deviceToken }
        return tokens[place]
    }

    package init(
        id: String,
        deviceToken: String,
        environment: Environment,
        registered: Timestamp,
    ) {
        self.init(
            id: id, deviceToken: deviceToken, environment: environment, registered: registered, created: registered,
            changed: registered)
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
