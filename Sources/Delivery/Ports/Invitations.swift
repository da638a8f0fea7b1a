package import Notifications

/// The one-time codes that admit new devices. A store has only their digests, so that nobody who reads it can use a
/// code.
package protocol Invitations: Sendable {
    /// Stores an invitation and removes expired ones.
    /// - Throws: ``StoreError/Code/conflict`` if there are already ``InvitationLimits/maximumCount`` invitations.
    func invite(_ invitation: Invitation, at moment: Timestamp) async throws(StoreError)

    /// Returns whether there is an invitation with this digest that was not used and has not expired.
    func isInvited(
        _ digest: [UInt8], to environment: Environment, at moment: Timestamp
    ) async throws(StoreError) -> Bool

    /// Checks an invitation and marks it as used in one step.
    /// - Returns: Whether this call has used it. Of several calls with the same code, one returns true.
    func useInvitation(
        _ digest: [UInt8],
        to environment: Environment,
        at moment: Timestamp,
    ) async throws(StoreError) -> Bool
}

/// Admits one device, once.
package struct Invitation: Sendable, Hashable {
    /// SHA-256 of the code, 32 bytes.
    package var digest: [UInt8]
    package var environment: Environment
    /// The time from which it is no longer valid.
    package var expires: Timestamp

    package init(digest: [UInt8], environment: Environment, expires: Timestamp) {
        self.digest = digest
        self.environment = environment
        self.expires = expires
    }
}

package enum InvitationLimits {
    /// The time for which an invitation is valid: long enough to bring its code to the device, and short enough that
    /// a lost code is worthless.
    package static let life = Duration.seconds(24 * 60 * 60)
    /// The largest number of unused invitations. It suffices for a large order of devices and limits the store's
    /// size.
    package static let maximumCount = 100_000
}

extension StoreError {
    /// There are too many unused invitations.
    package static let tooManyInvitations = StoreError(
        .conflict,
        "\(InvitationLimits.maximumCount) invitations are unused; wait until some are used or expire.",
    )
}
