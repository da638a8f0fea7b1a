package import Notifications
package import Storage

/// The one-time codes that admit new devices. A store has only their digests, so that nobody who reads it can use a
/// code.
package protocol Invitations: Sendable {
    /// Stores an invitation and removes expired ones.
    /// - Throws: ``StoreError/Code/conflict`` if there are already ``InvitationLimits/maximumCount`` invitations.
    func invite(_ invitation: Invitation, at moment: Timestamp) async throws(StoreError)

    /// Returns the invitation with this digest; nil if there is none that is unused and has not expired.
    func invitation(_ digest: [UInt8], at moment: Timestamp) async throws(StoreError) -> Invitation?

    /// Returns the invitations that are unused and have not expired, in the order of their digests.
    /// - Parameter digest: the page begins after it; nil for the first page.
    func invitations(
        after digest: [UInt8]?,
        limit: Int,
        at moment: Timestamp,
    ) async throws(StoreError) -> [Invitation]

    /// Checks an invitation and marks it as used in one step.
    /// - Returns: Whether this call has used it. Of several calls with the same code, one returns true.
    func useInvitation(
        _ digest: [UInt8],
        to environment: Environment,
        at moment: Timestamp,
    ) async throws(StoreError) -> Bool

    /// Removes an invitation, so that no device can use it any more.
    /// - Returns: The invitation; nil if there is none that is unused and has not expired. Of several calls for one
    ///   invitation, also of ``useInvitation(_:to:at:)``, one removes it.
    func withdrawInvitation(_ digest: [UInt8], at moment: Timestamp) async throws(StoreError) -> Invitation?
}

extension Invitations {
    /// Returns whether there is an invitation with this digest and environment that is unused and has not expired.
    package func isInvited(
        _ digest: [UInt8],
        to environment: Environment,
        at moment: Timestamp,
    ) async throws(StoreError) -> Bool {
        try await invitation(digest, at: moment)?.environment == environment
    }
}

/// Admits one device, once.
package struct Invitation: Sendable, Hashable {
    /// The number of bytes of a digest.
    private static let digestByteCount = 32

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

    /// The identifier by which administrators name the invitation: its digest, as 64 hexadecimal digits. Nobody can
    /// find the code by it. A code has 103 random bits, so that would mean trying all codes.
    package var id: String { Hexadecimal.string(digest) }

    /// - Parameter id: 64 hexadecimal digits in upper or lower case.
    /// - Returns: nil if `id` is something else.
    package static func digest(withID id: String) -> [UInt8]? {
        guard id.utf8.count == digestByteCount * 2 else { return nil }
        return Hexadecimal.bytes(id)
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
