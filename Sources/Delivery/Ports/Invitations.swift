package import Notifications

/// The one-time codes that let devices in. A store sees their digests alone, so that whoever reads it can use none.
package protocol Invitations: Sendable {
    /// Keeps an invitation, and forgets those that are out of date.
    /// - Throws: ``StoreError/Code/conflict`` when ``InvitationLimits/maximumCount`` are waiting.
    func invite(_ invitation: Invitation, at moment: Timestamp) async throws(StoreError)

    /// Whether there is such an invitation, not used and not out of date.
    func isInvited(
        _ digest: [UInt8], to environment: Environment, at moment: Timestamp
    ) async throws(StoreError) -> Bool

    /// Uses an invitation up, at once with the look whether it is good.
    /// - Returns: Whether it was this call that did: of several with the same code one.
    func useInvitation(
        _ digest: [UInt8],
        to environment: Environment,
        at moment: Timestamp,
    ) async throws(StoreError) -> Bool
}

/// Lets one device in, once.
package struct Invitation: Sendable, Hashable {
    /// SHA-256 of the code, 32 bytes.
    package var digest: [UInt8]
    package var environment: Environment
    /// From this moment on it lets nobody in.
    package var expires: Timestamp

    package init(digest: [UInt8], environment: Environment, expires: Timestamp) {
        self.digest = digest
        self.environment = environment
        self.expires = expires
    }
}

package enum InvitationLimits {
    /// How long an invitation is good: long enough to carry its code to the device, too short to be found lying about.
    package static let life = Duration.seconds(24 * 60 * 60)
    /// How many may be waiting for their devices: an order of devices fits, and the store stays bounded.
    package static let maximumCount = 100_000
}

extension StoreError {
    /// No more invitations are kept.
    package static let tooManyInvitations = StoreError(
        .conflict,
        "\(InvitationLimits.maximumCount) invitations are waiting; let some be used or run out first.",
    )
}
