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

    /// Checks an invitation and uses it up for a device in one step. What it was used for is kept until the invitation would
    /// have expired, because the answer to the device may be lost.
    /// - Returns: The activation that has used it: this one, or an earlier one of the same key. nil if the invitation is
    ///   unknown, was withdrawn, has expired, or was used for another key. Of several calls for one invitation, one uses it.
    func useInvitation(
        _ digest: [UInt8],
        to environment: Environment,
        for activation: Activation,
        at moment: Timestamp,
    ) async throws(StoreError) -> Activation?

    /// Returns what an invitation was used for; nil if it was not used, or would have expired by now.
    func activation(
        of digest: [UInt8],
        to environment: Environment,
        at moment: Timestamp,
    ) async throws(StoreError) -> Activation?

    /// Removes an invitation, so that no device can use it any more.
    /// - Returns: The invitation; nil if there is none that is unused and has not expired. Of several calls for one
    ///   invitation, also of ``useInvitation(_:to:for:at:)``, one removes it.
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

/// What an invitation was used for: a device with its key and certificate.
package struct Activation: Sendable, Hashable {
    /// SHA-256 of the device's public key, 32 bytes. Only the device that has the private key gets the certificate again.
    package var key: [UInt8]
    package var device: DeviceID
    /// The certificate chain in PEM, as it was sent to the device.
    package var chain: String

    package init(key: [UInt8], device: DeviceID, chain: String) {
        (self.key, self.device, self.chain) = (key, device, chain)
    }
}

/// An invitation that was used. It is kept until the invitation would have expired.
package struct UsedInvitation: Sendable, Hashable {
    package var invitation: Invitation
    package var activation: Activation

    package init(invitation: Invitation, activation: Activation) {
        (self.invitation, self.activation) = (invitation, activation)
    }
}

package enum InvitationLimits {
    /// The time for which an invitation is valid: long enough to bring its code to the device, and short enough that
    /// a lost code is worthless.
    package static let life = Duration.seconds(24 * 60 * 60)
    /// The largest number of unused invitations. It suffices for a large order of devices and limits the store's
    /// size. Used ones do not count, because a fleet of more devices may activate in a day. Each has 2 KB for that day.
    package static let maximumCount = 100_000
}

extension StoreError {
    /// There are too many unused invitations.
    package static let tooManyInvitations = StoreError(
        .conflict,
        "\(InvitationLimits.maximumCount) invitations are unused; wait until some are used or expire.",
    )
}
