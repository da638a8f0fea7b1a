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

    package init(
        id: KeyID,
        team: TeamID,
        publicKey: P256.Signing.PublicKey,
        environments: Set<Environment> = Set(Environment.allCases),
        bundleIDs: Set<BundleID>? = nil,
    ) {
        self.id = id
        self.team = team
        self.publicKey = publicKey
        self.environments = environments
        self.bundleIDs = bundleIDs
    }
}

/// The contents of a verified provider token. A class, because each request that was sent with it refers to it.
package final class VerifiedProviderToken: Sendable {
    package let team: TeamID
    package let key: KeyID
    /// The key's point on P-256, uncompressed (X9.63).
    package let publicKey: [UInt8]
    /// Seconds since 1970.
    package let issuedAt: Double
    /// The bundle IDs of the apps that its key may send to; nil for all apps of its team.
    package let bundleIDs: Set<BundleID>?
    private let isForDevelopment: Bool
    private let isForProduction: Bool

    /// - Parameter key: the key that verified it.
    package init(issuedAt: Double, key: ProviderKey) {
        team = key.team
        self.key = key.id
        publicKey = Array(key.publicKey.x963Representation)
        self.issuedAt = issuedAt
        bundleIDs = key.bundleIDs
        isForDevelopment = key.environments.contains(.development)
        isForProduction = key.environments.contains(.production)
    }

    /// Whether both keys are for the same environments and the same apps.
    package func hasScope(of other: VerifiedProviderToken) -> Bool {
        bundleIDs == other.bundleIDs && isForDevelopment == other.isForDevelopment
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
