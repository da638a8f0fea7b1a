extension ManagementMessages {
    /// A request for a new grant. Without a public key, the service makes a key.
    package struct NewGrant: Codable, Sendable {
        package var bundleID: String
        package var name: String
        /// The public half in PEM, or as X9.63 (65 bytes) in Base64.
        package var publicKey: String?
        package var topics: [String]?
        package var pushTypes: [String]?
        package var priorities: [UInt8]?
        package var rate: Int?
        package var burst: Int?
        package var daily: Int?
        package var payloadBytes: Int?
        package var expires: UInt64?
        package var encryptedOnly: Bool?
        package var maximumHandles: Int?
        package var suspended: Bool?

        package init(bundleID: String, name: String, publicKey: String? = nil) {
            self.bundleID = bundleID
            self.name = name
            self.publicKey = publicKey
        }
    }

    package struct GrantMade: Codable, Sendable {
        package var grant: String
        package var teamID: String
        package var keyID: String
        package var clientKey: String
        /// The private half in PEM, if the service made the key. Only this answer contains it; the service does not
        /// keep it.
        package var privateKey: String?
    }

    /// Changes a grant. What is missing stays; 0 or an empty list removes a limit.
    package struct GrantChange: Codable, Sendable {
        package var name: String?
        package var topics: [String]?
        package var pushTypes: [String]?
        package var priorities: [UInt8]?
        package var rate: Int?
        package var burst: Int?
        package var daily: Int?
        package var payloadBytes: Int?
        package var expires: UInt64?
        package var encryptedOnly: Bool?
        package var maximumHandles: Int?
        package var suspended: Bool?

        package init(suspended: Bool? = nil) { self.suspended = suspended }
    }

    package struct Grant: Codable, Sendable {
        package var grant: String
        package var bundleID: String
        package var name: String
        package var teamID: String
        package var keyID: String
        /// In PEM.
        package var publicKey: String
        package var clientKey: String
        package var topics: [String]?
        package var pushTypes: [String]?
        package var priorities: [UInt8]?
        package var rate: Int?
        package var burst: Int?
        package var daily: Int?
        package var payloadBytes: Int?
        package var expires: UInt64?
        package var encryptedOnly: Bool
        package var maximumHandles: Int
        package var suspended: Bool
        package var made: UInt64
        package var revoked: UInt64?
        /// How many handles it has.
        package var handles: Int
        /// How many notifications count for today's number (UTC).
        package var today: UInt64
        /// How its requests were answered: `200` or the reason, with the number of answers.
        package var sent: [String: UInt64]
    }

    package struct GrantInvitationMade: Codable, Sendable {
        /// The one-time code. Only this answer contains it; the service keeps its digest.
        package var code: String
        package var id: String
        package var expires: UInt64
    }

    package struct GrantInvitation: Codable, Sendable {
        package var id: String
        package var bundleID: String
        package var name: String
        package var expires: UInt64
    }
}
