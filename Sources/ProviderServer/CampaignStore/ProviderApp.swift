package import Notifications

/// An app that the provider server sends to.
package struct ProviderApp: Sendable, Hashable {
    /// The number that the store gave the app; 0 for an app that is not stored yet. Numbers are never used again.
    package var number: Int64
    package var bundleID: String
    package var teamID: String
    /// The server and the credentials for each environment. The app does not use an environment that is missing.
    package var endpoints: [Environment: Endpoint]
    /// SHA-256 of the key that is built into the app. It may register installations.
    package var clientKeyDigest: [UInt8]
    /// SHA-256 of the key of the app's backend. It may send messages as well.
    package var serverKeyDigest: [UInt8]
    /// Whether the app itself may say who its user is. If not, only the backend or a signed token can.
    package var acceptsClaimedUsers: Bool
    /// The organisation's identity provider, whose tokens apps may present instead of the key.
    package var identity: IdentityProvider?

    package init(
        number: Int64 = 0,
        bundleID: String,
        teamID: String,
        endpoints: [Environment: Endpoint],
        clientKeyDigest: [UInt8],
        serverKeyDigest: [UInt8],
        acceptsClaimedUsers: Bool = false,
        identity: IdentityProvider? = nil,
    ) {
        self.number = number
        self.bundleID = bundleID
        self.teamID = teamID
        self.endpoints = endpoints
        self.clientKeyDigest = clientKeyDigest
        self.serverKeyDigest = serverKeyDigest
        self.acceptsClaimedUsers = acceptsClaimedUsers
        self.identity = identity
    }

    /// The server for one environment, and the credentials for it.
    package struct Endpoint: Sendable, Hashable, Codable {
        /// The server's address, `https://host:port`.
        package var url: String
        /// The certificates that verify the server's certificate, in PEM; nil for the system's.
        package var authority: String?
        /// The address of the feedback service, `https://host:port`; nil if the server has none.
        package var feedback: String?
        /// The address of the management of broadcast channels, `https://host:port`; nil for Apple's.
        package var channels: String?
        /// The signing key or the certificate, encrypted.
        package var sealedCredentials: [UInt8]
        /// The part of the credentials that may be shown.
        package var credentials: CredentialsSummary

        package init(
            url: String,
            authority: String?,
            feedback: String? = nil,
            channels: String? = nil,
            sealedCredentials: [UInt8],
            credentials: CredentialsSummary,
        ) {
            self.url = url
            self.authority = authority
            self.feedback = feedback
            self.channels = channels
            self.sealedCredentials = sealedCredentials
            self.credentials = credentials
        }
    }

    /// The part of credentials that may be shown. It never includes a key.
    package enum CredentialsSummary: Sendable, Hashable, Codable {
        case key(keyID: String)
        case certificate
    }

    /// An identity provider, whose signed tokens are accepted.
    package struct IdentityProvider: Sendable, Hashable, Codable {
        /// The required value of `iss`.
        package var issuer: String
        /// The value that `aud` must contain.
        package var audience: String
        /// The file on the server's machine with the public keys: a JSON Web Key Set (RFC 7517).
        package var keysFile: String

        package init(issuer: String, audience: String, keysFile: String) {
            self.issuer = issuer
            self.audience = audience
            self.keysFile = keysFile
        }
    }
}
