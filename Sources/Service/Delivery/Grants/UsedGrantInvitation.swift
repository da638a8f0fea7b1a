package import Notifications

/// What an invitation to make a grant was used for. It is kept until the invitation would have expired, so that the same code
/// with the same key gets the same grant if the answer was lost.
package struct UsedGrantInvitation: Sendable, Hashable {
    package let invitation: GrantInvitation
    /// SHA-256 of the grant's public key, 32 bytes.
    package let key: [UInt8]
    /// The grant. It may not have been made, if the service was stopped in between.
    package let grant: GrantID

    package init(invitation: GrantInvitation, key: [UInt8], grant: GrantID) {
        (self.invitation, self.key, self.grant) = (invitation, key, grant)
    }
}
