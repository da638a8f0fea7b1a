package import Crypto
package import Notifications

/// A provider's token signing key, as the service knows it.
package struct ProviderKey: Sendable {
    package let id: KeyID
    package let team: TeamID
    package let publicKey: P256.Signing.PublicKey
    package let environments: Set<Environment>
    /// The bundle IDs of the apps that the key may send to; nil for all apps of its team.
    package let bundleIDs: Set<BundleID>?
    /// The grant whose key it is; nil for a key of the team itself.
    package let grant: GrantID?

    package init(
        id: KeyID,
        team: TeamID,
        publicKey: P256.Signing.PublicKey,
        environments: Set<Environment> = Set(Environment.allCases),
        bundleIDs: Set<BundleID>? = nil,
        grant: GrantID? = nil,
    ) {
        self.id = id
        self.team = team
        self.publicKey = publicKey
        self.environments = environments
        self.bundleIDs = bundleIDs
        self.grant = grant
    }
}

/// The contents of a provider token that was verified, or accepted although its key is not known
/// (``UnknownKeys``). A class, because each request that was sent with it refers to it.
package final class VerifiedProviderToken: Sendable {
    package let team: TeamID
    package let key: KeyID
    /// Whether the service knows the key, and has verified the signature.
    package let isVerified: Bool
    /// The key's point on P-256, uncompressed (X9.63); empty if the key is not known.
    package let publicKey: [UInt8]
    /// Seconds since 1970.
    package let issuedAt: Double
    /// The bundle IDs of the apps that its key may send to; nil for all apps of its team.
    package let bundleIDs: Set<BundleID>?
    /// The grant whose key has signed it; nil for a key of the team itself.
    package let grant: GrantID?
    private let isForDevelopment: Bool
    private let isForProduction: Bool

    /// - Parameter key: the key that verified it.
    package init(issuedAt: Double, key: ProviderKey) {
        team = key.team
        self.key = key.id
        isVerified = true
        publicKey = Array(key.publicKey.x963Representation)
        self.issuedAt = issuedAt
        bundleIDs = key.bundleIDs
        grant = key.grant
        isForDevelopment = key.environments.contains(.development)
        isForProduction = key.environments.contains(.production)
    }

    /// Creates the contents of a provider token whose key is not known. It is as good as a key for all apps of the team
    /// and for both environments.
    init(issuedAt: Double, unknown key: KeyID, of team: TeamID) {
        self.team = team
        self.key = key
        isVerified = false
        publicKey = []
        self.issuedAt = issuedAt
        bundleIDs = nil
        grant = nil
        isForDevelopment = true
        isForProduction = true
    }

    /// Whether both keys are for the same environments, the same apps and the same grant.
    package func hasScope(of other: VerifiedProviderToken) -> Bool {
        bundleIDs == other.bundleIDs && grant == other.grant && isForDevelopment == other.isForDevelopment
            && isForProduction == other.isForProduction
    }

    /// Whether its key may be used there.
    package func isFor(_ environment: Environment) -> Bool {
        switch environment {
        case .development: isForDevelopment
        case .production: isForProduction
        }
    }
}
