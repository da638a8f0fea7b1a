import Delivery
package import HTTPAPI
import Trust

/// The messages of the management API, documented in docs/administration.md. Moments are milliseconds since 1970.
package enum ManagementMessages {
    // MARK: Teams and apps

    package struct NewTeam: JSONMessage {
        package let name: String
        package let teamID: String?

        package init(name: String, teamID: String? = nil) { (self.name, self.teamID) = (name, teamID) }

        package static let form: JSONForm<NewTeam> = .object(
            "NewTeam", NewTeam.init,
            .required("name", .text(.teamName), \.name, "The team's name, for people."),
            .optional("teamID", .text(.accountID), \.teamID, "Your own; without it the service chooses one."))
    }

    package struct TeamMade: JSONMessage {
        package let teamID: String

        package static let form: JSONForm<TeamMade> = .object(
            "TeamMade", TeamMade.init, .required("teamID", .text(.accountID), \.teamID))
    }

    package struct Team: JSONMessage {
        package let teamID: String
        package let name: String
        package let bundleIDs: [String]
        package let keyIDs: [String]
        package let serials: [String]

        package static let form: JSONForm<Team> = .object(
            "Team", Team.init,
            .required("teamID", .text(.accountID), \.teamID), .required("name", .text(.any), \.name),
            .required("bundleIDs", .list(of: .text(.bundleID)), \.bundleIDs),
            .required("keyIDs", .list(of: .text(.accountID)), \.keyIDs),
            .required("serials", .list(of: .text(.serial)), \.serials, "The serial numbers of its certificates."))
    }

    package struct NewApp: JSONMessage {
        package let team: String
        package let bundleID: String
        package let broadcast: Bool?
        package let keep: Int?

        package init(team: String, bundleID: String, broadcast: Bool? = nil, keep: Int? = nil) {
            (self.team, self.bundleID, self.broadcast, self.keep) = (team, bundleID, broadcast, keep)
        }

        package static let form: JSONForm<NewApp> = .object(
            "NewApp", NewApp.init,
            .required("team", .text(.accountID), \.team), .required("bundleID", .text(.bundleID), \.bundleID),
            .optional("broadcast", .boolean, \.broadcast, meaningOfBroadcast),
            .optional("keep", formOfKeep, \.keep, meaningOfKeep))
    }

    package struct AppChange: JSONMessage {
        package let broadcast: Bool?
        package let keep: Int?

        package init(broadcast: Bool? = nil, keep: Int? = nil) { (self.broadcast, self.keep) = (broadcast, keep) }

        package static let form: JSONForm<AppChange> = .object(
            "AppChange", AppChange.init,
            .optional("broadcast", .boolean, \.broadcast, meaningOfBroadcast),
            .optional("keep", formOfKeep, \.keep, meaningOfKeep))
    }

    static let formOfKeep = JSONForm<Int>.integer(from: 1, to: MailboxBound.maximumCount)
    static let meaningOfKeep =
        "How many notifications are kept for a device that is offline: the newest, 4 MiB together at most for each device; "
        + "1 if it is missing in a new app. Beyond that the oldest is dropped, at once if the number becomes less. An app "
        + "with an upstream keeps 1."

    private static let meaningOfBroadcast =
        "Whether the app may have broadcast channels; true if it is missing in a new app. If it becomes false, its channels "
        + "are deleted."

    package struct AppMade: JSONMessage {
        package let bundleID: String
        package let topics: [String]
        package let keep: Int

        package static let form: JSONForm<AppMade> = .object(
            "AppMade", AppMade.init,
            .required("bundleID", .text(.bundleID), \.bundleID), .required("topics", .list(of: .text(.any)), \.topics),
            .required("keep", formOfKeep, \.keep, "How many notifications are kept for a device that is offline."))
    }

    package struct App: JSONMessage {
        package let bundleID: String
        package let teamID: String
        package let topics: [String]
        package let broadcast: Bool
        package let keep: Int
        /// Nil if all notifications are delivered here.
        package let upstreams: [UpstreamAddress]?

        package static let form: JSONForm<App> = .object(
            "App", App.init,
            .required("bundleID", .text(.bundleID), \.bundleID), .required("teamID", .text(.accountID), \.teamID),
            .required(
                "topics", .list(of: .text(.any)), \.topics,
                "The topics of a certificate for the app. A provider token may also send to the topics of other push types."
            ),
            .required("broadcast", .boolean, \.broadcast, "Whether the app may have broadcast channels."),
            .required("keep", formOfKeep, \.keep, "How many notifications are kept for a device that is offline."),
            .optional(
                "upstreams", .list(of: UpstreamAddress.form), \.upstreams,
                "Where its notifications are forwarded to; missing if they are delivered here."))
    }

    package struct UpstreamAddress: JSONMessage {
        package let environment: String
        package let url: String
        package let refused: UpstreamRefusal?

        package static let form: JSONForm<UpstreamAddress> = .object(
            nil, UpstreamAddress.init,
            .required("environment", .text(.environment), \.environment),
            .required("url", .text(.upstreamAddress), \.url),
            .optional("refused", UpstreamRefusal.form, \.refused, UpstreamRefusal.meaning))
    }

    // MARK: Keys

    /// A request for a new key. The caller may supply the private or the public half; without either, the service
    /// makes a key.
    package struct NewKey: JSONMessage {
        package let team: String
        package let keyID: String?
        package let publicKey: String?
        package let privateKey: String?
        package let environment: String?
        package let bundleIDs: [String]?

        package init(
            team: String,
            keyID: String? = nil,
            publicKey: String? = nil,
            privateKey: String? = nil,
            environment: String? = nil,
            bundleIDs: [String]? = nil,
        ) {
            (self.team, self.keyID, self.publicKey, self.privateKey) = (team, keyID, publicKey, privateKey)
            (self.environment, self.bundleIDs) = (environment, bundleIDs)
        }

        package static let form: JSONForm<NewKey> = .object(
            "NewKey", NewKey.init,
            .required("team", .text(.accountID), \.team),
            .optional("keyID", .text(.accountID), \.keyID, "Your own; without it the service chooses one."),
            .optional(
                "publicKey", .text(.any), \.publicKey,
                """
                The public half of your key (P-256): in PEM, or the uncompressed point in Base64. Without a key the service \
                makes one.
                """),
            .optional(
                "privateKey", .text(.pem), \.privateKey,
                "Your key (P-256) in PEM. The service keeps only its public half."),
            .optional(
                "environment", .text(.environment), \.environment,
                "The only environment that the key is for; without it, both."),
            .optional(
                "bundleIDs", .list(of: .text(.bundleID), from: 1, to: TeamKey.maximumBundleIDs), \.bundleIDs,
                "The only apps that the key is for; without it, all of the team's."))
    }

    package struct KeyMade: JSONMessage {
        package let keyID: String
        package let privateKey: String?

        package static let form: JSONForm<KeyMade> = .object(
            "KeyMade", KeyMade.init,
            .required("keyID", .text(.accountID), \.keyID),
            .optional("privateKey", .text(.any), \.privateKey, "In PEM, if the service made the key; shown this once."))
    }

    package struct KeyRevoked: JSONMessage {
        package let keyID: String

        package static let form: JSONForm<KeyRevoked> = .object(
            "KeyRevoked", KeyRevoked.init, .required("keyID", .text(.accountID), \.keyID))
    }

    package struct Key: JSONMessage {
        package let keyID: String
        package let teamID: String
        package let environments: [String]
        package let bundleIDs: [String]?
        package let revoked: UInt64?

        package static let form: JSONForm<Key> = .object(
            "Key", Key.init,
            .required("keyID", .text(.accountID), \.keyID), .required("teamID", .text(.accountID), \.teamID),
            .required("environments", .list(of: .text(.environment)), \.environments),
            .optional("bundleIDs", .list(of: .text(.bundleID)), \.bundleIDs),
            .optional("revoked", .integer(), \.revoked))
    }

    // MARK: Certificates

    package struct NewCertificate: JSONMessage {
        /// The value of ``environment`` for a certificate that is valid in both.
        package static let universal = "universal"

        package let team: String
        package let bundleID: String
        package let environment: String
        package let request: String?
        package let listsTopics: Bool?
        package let includesChain: Bool?
        package let format: String?
        package let passphrase: String?

        package init(
            team: String,
            bundleID: String,
            environment: String,
            request: String? = nil,
            listsTopics: Bool? = nil,
            includesChain: Bool? = nil,
            format: String? = nil,
            passphrase: String? = nil,
        ) {
            (self.team, self.bundleID, self.environment) = (team, bundleID, environment)
            (self.request, self.listsTopics, self.includesChain) = (request, listsTopics, includesChain)
            (self.format, self.passphrase) = (format, passphrase)
        }

        package static let form: JSONForm<NewCertificate> = .object(
            "NewCertificate", NewCertificate.init,
            .required("team", .text(.accountID), \.team), .required("bundleID", .text(.bundleID), \.bundleID),
            .required("environment", .text(.certificateEnvironment), \.environment, "universal: for both."),
            .optional(
                "request", .text(.pem), \.request,
                """
                A certificate signing request (PKCS#10) in PEM, of which only the public key is taken; without it the \
                service makes a key.
                """),
            .optional(
                "listsTopics", .boolean, \.listsTopics,
                "false: the only topic is the UID of the certificate's subject."),
            .optional("includesChain", .boolean, \.includesChain, meaningOfIncludesChain),
            .optional(
                "format", .text(.certificateFormat), \.format, "p12 adds PKCS#12, for a key that the service makes."),
            .optional("passphrase", .text(.any), \.passphrase, "The passphrase of the PKCS#12, which needs one."))
    }

    static let meaningOfIncludesChain =
        "Whether chain and the PKCS#12 have the intermediate too, for a server that does not know it."

    package struct CertificateMade: JSONMessage {
        package let serial: String
        package let topics: [String]
        package let chain: String
        package let privateKey: String?
        package var p12: String?

        package static let form: JSONForm<CertificateMade> = .object(
            "CertificateMade", CertificateMade.init,
            .required("serial", .text(.serial), \.serial), .required("topics", .list(of: .text(.any)), \.topics),
            .required(
                "chain", .text(.any), \.chain, "The certificate in PEM, and its intermediate if it was asked for."),
            .optional("privateKey", .text(.any), \.privateKey, "In PEM, if the service made the key; shown this once."),
            .optional("p12", .text(.any), \.p12, "PKCS#12 in Base64, if it was asked for."))
    }

    package struct Certificate: JSONMessage {
        package let serial: String
        package let teamID: String
        package let bundleID: String
        package let environments: [String]
        package let validUntil: UInt64
        package let revoked: UInt64?

        package static let form: JSONForm<Certificate> = .object(
            "Certificate", Certificate.init,
            .required("serial", .text(.serial), \.serial), .required("teamID", .text(.accountID), \.teamID),
            .required("bundleID", .text(.bundleID), \.bundleID),
            .required("environments", .list(of: .text(.environment)), \.environments),
            .required("validUntil", .integer(), \.validUntil), .optional("revoked", .integer(), \.revoked))
    }

    package struct CertificateRevoked: JSONMessage {
        package let serial: String

        package static let form: JSONForm<CertificateRevoked> = .object(
            "CertificateRevoked", CertificateRevoked.init, .required("serial", .text(.serial), \.serial))
    }

    // MARK: Devices and administrators

    package struct NewInvitation: JSONMessage {
        package let environment: String

        package init(environment: String) { self.environment = environment }

        package static let form: JSONForm<NewInvitation> = .object(
            "NewInvitation", NewInvitation.init,
            .required("environment", .text(.environment), \.environment))
    }

    package struct InvitationMade: JSONMessage {
        package let code: String
        package let id: String
        package let expires: UInt64

        package static let form: JSONForm<InvitationMade> = .object(
            "InvitationMade", InvitationMade.init,
            .required("code", .text(.any), \.code, "The one-time activation code; shown this once."),
            .required("id", .text(.invitationID), \.id, "The invitation's ID: SHA-256 of the code."),
            .required("expires", .integer(), \.expires))
    }

    package struct Invitation: JSONMessage {
        package let id: String
        package let environment: String
        package let expires: UInt64

        package static let form: JSONForm<Invitation> = .object(
            "Invitation", Invitation.init,
            .required("id", .text(.invitationID), \.id), .required("environment", .text(.environment), \.environment),
            .required("expires", .integer(), \.expires))
    }

    package struct RevokedDevice: JSONMessage {
        package let deviceID: String
        package let environments: [String]
        package let registrations: Int

        package static let form: JSONForm<RevokedDevice> = .object(
            "RevokedDevice", RevokedDevice.init,
            .required("deviceID", .text(.deviceID), \.deviceID),
            .required("environments", .list(of: .text(.environment)), \.environments),
            .required(
                "registrations", .integer(), \.registrations,
                "How many registrations ended; 0 if there is no such device."))
    }

    /// The key that seals new device tokens from now on.
    package struct TokenKey: JSONMessage {
        package let tokenKeyID: UInt32

        package static let form: JSONForm<TokenKey> = .object(
            "TokenKey", TokenKey.init,
            .required("tokenKeyID", .integer(from: 1, to: TokenKeys.maximumCount), \.tokenKeyID))
    }

    /// A certificate with which an administrator uses the API over TLS.
    package struct AdministratorMade: JSONMessage {
        package let serial: String
        package let identity: String
        package let validUntil: UInt64

        package static let form: JSONForm<AdministratorMade> = .object(
            "AdministratorMade", AdministratorMade.init,
            .required("serial", .text(.serial), \.serial),
            .required(
                "identity", .text(.any), \.identity,
                "The key, the certificate and its intermediate, PEM; shown this once."),
            .required("validUntil", .integer(), \.validUntil))
    }

    package struct Administrator: JSONMessage {
        package let serial: String
        package let made: UInt64?
        /// The end of its validity period. If `made` is nil, the real end may be earlier.
        package let validUntil: UInt64
        package let revoked: UInt64?

        package static let form: JSONForm<Administrator> = .object(
            "Administrator", Administrator.init,
            .required("serial", .text(.serial), \.serial),
            .optional(
                "made", .integer(), \.made, "Missing if the certificate was not listed until its revocation."),
            .required("validUntil", .integer(), \.validUntil), .optional("revoked", .integer(), \.revoked))
    }

    package struct AdministratorRevoked: JSONMessage {
        package let serial: String

        package static let form: JSONForm<AdministratorRevoked> = .object(
            "AdministratorRevoked", AdministratorRevoked.init, .required("serial", .text(.serial), \.serial))
    }
}
