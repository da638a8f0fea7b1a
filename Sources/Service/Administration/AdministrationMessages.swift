/// What goes over the administration's socket: HTTP/2 with JSON, documented in docs/administration.md. Moments are
/// milliseconds since 1970.
package enum AdministrationMessages {
    // MARK: Teams and apps

    package struct NewTeam: Codable, Sendable {
        package var name: String
        package init(name: String) { self.name = name }
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
        package init(team: String, bundleID: String) {
            self.team = team
            self.bundleID = bundleID
        }
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
    }

    // MARK: Keys

    /// The private half stays with who made it.
    package struct NewKey: Codable, Sendable {
        package var team: String
        /// X9.63, 65 bytes, in Base64.
        package var publicKey: String
        /// Nil for both.
        package var environment: String?
        /// The apps it is good for; nil for all of the team's.
        package var bundleIDs: [String]?
        package init(team: String, publicKey: String, environment: String?, bundleIDs: [String]? = nil) {
            self.team = team
            self.publicKey = publicKey
            self.environment = environment
            self.bundleIDs = bundleIDs
        }
    }

    package struct KeyMade: Codable, Sendable {
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

    /// The private key stays with who made the request.
    package struct NewCertificate: Codable, Sendable {
        package var team: String
        package var bundleID: String
        /// `development`, `production` or `universal`.
        package var environment: String
        /// PKCS#10, PEM.
        package var request: String
        /// Whether the certificate lists the app's topics; false for one whose only topic is its subject's UID.
        package var listsTopics: Bool
        package init(team: String, bundleID: String, environment: String, request: String, listsTopics: Bool) {
            self.team = team
            self.bundleID = bundleID
            self.environment = environment
            self.request = request
            self.listsTopics = listsTopics
        }
    }

    package struct CertificateMade: Codable, Sendable {
        package var serial: String
        package var topics: [String]
        /// The certificate and its intermediate, PEM.
        package var chain: String
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

    package struct Invitation: Codable, Sendable {
        package var code: String
    }

    package struct NewRevokedDevice: Codable, Sendable {
        /// Nil for both.
        package var environment: String?
        package init(environment: String?) { self.environment = environment }
    }

    package struct RevokedDevice: Codable, Sendable {
        package var deviceID: String
        package var environments: [String]
        /// How many registrations ended; none may mean that there is no such device.
        package var registrations: Int
    }

    /// The key that seals new device tokens from now on.
    package struct TokenKey: Codable, Sendable {
        package var tokenKeyID: UInt32
    }

    /// A certificate for the administration over TLS.
    package struct Administrator: Codable, Sendable {
        package var serial: String
        /// The key, the certificate and its intermediate, PEM.
        package var identity: String
    }

    package struct Failure: Codable, Sendable {
        package var error: String
    }
}
