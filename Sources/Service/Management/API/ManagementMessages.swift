/// The JSON of the management API, documented in docs/administration.md. ``ManagementSchemas`` has the rules for each
/// value. Moments are milliseconds since 1970.
package enum ManagementMessages {
    // MARK: Teams and apps

    package struct NewTeam: Codable, Sendable {
        package var name: String
        /// The ID that the caller chose; nil if the service chooses one.
        package var teamID: String?
        package init(name: String, teamID: String? = nil) {
            self.name = name
            self.teamID = teamID
        }
    }

    package struct TeamMade: Codable, Sendable {
        package var teamID: String
    }

    package struct Team: Codable, Sendable {
        package var teamID: String
        package var name: String
        package var bundleIDs: [String]
        package var keyIDs: [String]
        package var serials: [String]
    }

    package struct NewApp: Codable, Sendable {
        package var team: String
        package var bundleID: String
        /// Whether the app may have broadcast channels; nil means yes.
        package var broadcast: Bool?
        package init(team: String, bundleID: String, broadcast: Bool? = nil) {
            self.team = team
            self.bundleID = bundleID
            self.broadcast = broadcast
        }
    }

    package struct AppChange: Codable, Sendable {
        package var broadcast: Bool?
        package init(broadcast: Bool? = nil) { self.broadcast = broadcast }
    }

    package struct AppMade: Codable, Sendable {
        package var bundleID: String
        package var topics: [String]
    }

    package struct App: Codable, Sendable {
        package var bundleID: String
        package var teamID: String
        /// Every topic that reaches the app.
        package var topics: [String]
        /// Whether the app may have broadcast channels.
        package var broadcast: Bool
        /// Where its notifications are forwarded to; nil if they are delivered here in both environments.
        package var upstreams: [UpstreamAddress]?
    }

    package struct UpstreamAddress: Codable, Sendable {
        package var environment: String
        package var url: String
    }

    // MARK: Keys

    /// A request for a new key. The caller may supply the private or the public half; without either, the service
    /// makes a key.
    package struct NewKey: Codable, Sendable {
        package var team: String
        /// The ID that the caller chose; nil if the service chooses one.
        package var keyID: String?
        /// The public half in PEM, or as X9.63 (65 bytes) in Base64.
        package var publicKey: String?
        /// The private half in PEM. The service keeps only its public half.
        package var privateKey: String?
        /// Nil if the key is valid in both environments.
        package var environment: String?
        /// The apps that the key is valid for; nil if it is valid for all apps of the team.
        package var bundleIDs: [String]?
        package init(
            team: String,
            keyID: String? = nil,
            publicKey: String? = nil,
            privateKey: String? = nil,
            environment: String? = nil,
            bundleIDs: [String]? = nil,
        ) {
            self.team = team
            self.keyID = keyID
            self.publicKey = publicKey
            self.privateKey = privateKey
            self.environment = environment
            self.bundleIDs = bundleIDs
        }
    }

    package struct KeyMade: Codable, Sendable {
        package var keyID: String
        /// The private half in PEM, if the service made the key. Only this answer contains it; the service does not
        /// keep it.
        package var privateKey: String?
    }

    package struct KeyRevoked: Codable, Sendable {
        package var keyID: String
    }

    package struct Key: Codable, Sendable {
        package var keyID: String
        package var teamID: String
        package var environments: [String]
        package var bundleIDs: [String]?
        package var revoked: UInt64?
    }

    // MARK: Certificates

    package struct NewCertificate: Codable, Sendable {
        package var team: String
        package var bundleID: String
        /// `development`, `production` or `universal`.
        package var environment: String
        /// A certificate signing request (PKCS#10) in PEM. With it, the private key stays with the caller. Without
        /// it, the service makes the key.
        package var request: String?
        /// Whether the certificate lists the app's topics, which is the default. If false, its only topic is its
        /// subject's UID.
        package var listsTopics: Bool?
        /// `pem` or `p12`.
        package var format: String?
        /// The passphrase of the PKCS#12 bundle.
        package var passphrase: String?
        package init(
            team: String,
            bundleID: String,
            environment: String,
            request: String? = nil,
            listsTopics: Bool? = nil,
            format: String? = nil,
            passphrase: String? = nil,
        ) {
            self.team = team
            self.bundleID = bundleID
            self.environment = environment
            self.request = request
            self.listsTopics = listsTopics
            self.format = format
            self.passphrase = passphrase
        }
    }

    package struct CertificateMade: Codable, Sendable {
        package var serial: String
        package var topics: [String]
        /// The certificate and its intermediate in PEM.
        package var chain: String
        /// The private key in PEM, if the service made the key. Only this answer contains it; the service does not
        /// keep it.
        package var privateKey: String?
        /// The PKCS#12 bundle in Base64, if the request asked for one.
        package var p12: String?
    }

    package struct Certificate: Codable, Sendable {
        package var serial: String
        package var teamID: String
        package var bundleID: String
        package var environments: [String]
        package var validUntil: UInt64
        package var revoked: UInt64?
    }

    package struct CertificateRevoked: Codable, Sendable {
        package var serial: String
    }

    // MARK: Devices

    package struct NewInvitation: Codable, Sendable {
        package var environment: String
        package init(environment: String) { self.environment = environment }
    }

    package struct InvitationMade: Codable, Sendable {
        /// The one-time activation code. Only this answer contains it; the service keeps its digest.
        package var code: String
        package var id: String
        package var expires: UInt64
    }

    package struct Invitation: Codable, Sendable {
        package var id: String
        package var environment: String
        package var expires: UInt64
    }

    package struct RevokedDevice: Codable, Sendable {
        package var deviceID: String
        package var environments: [String]
        /// The number of registrations that ended; 0 may mean that there is no such device.
        package var registrations: Int
    }

    /// The key that seals new device tokens from now on.
    package struct TokenKey: Codable, Sendable {
        package var tokenKeyID: UInt32
    }

    /// A certificate with which an administrator uses the API over TLS.
    package struct AdministratorMade: Codable, Sendable {
        package var serial: String
        /// The key, the certificate and its intermediate in PEM. Only this answer contains the key.
        package var identity: String
        package var validUntil: UInt64
    }

    package struct Administrator: Codable, Sendable {
        package var serial: String
        /// When it was made; nil if it was not listed until its revocation.
        package var made: UInt64?
        /// The end of its validity period. If `made` is nil, the real end may be earlier.
        package var validUntil: UInt64
        package var revoked: UInt64?
    }

    package struct AdministratorRevoked: Codable, Sendable {
        package var serial: String
    }

    /// Whether the service is alive (`/health`) or ready (`/ready`).
    package struct Status: Codable, Sendable {
        package var status: String
        package init(status: String) { self.status = status }
    }
}
