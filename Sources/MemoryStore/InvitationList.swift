import Delivery
import Notifications

/// The invitations that no device has used yet.
struct InvitationList: Sendable {
    private var invitations: [[UInt8]: Invitation] = [:]
    private var expiries = ExpiryQueue<[UInt8]>()

    var count: Int { invitations.count }

    /// - Returns: Whether there was room.
    mutating func insert(_ invitation: Invitation, at moment: Timestamp) -> Bool {
        // At its expiration time, an invitation is already invalid.
        while let digest = expiries.popFirst(before: moment.advanced(by: .milliseconds(1))) {
            if let known = invitations[digest], known.expires <= moment { invitations[digest] = nil }
        }
        guard invitations.count < InvitationLimits.maximumCount else { return false }
        invitations[invitation.digest] = invitation
        expiries.insert(invitation.digest, expires: invitation.expires)
        if expiries.isMostlyStale(live: invitations.count) {
            expiries = ExpiryQueue(invitations.values.lazy.map { (moment: $0.expires, element: $0.digest) })
        }
        return true
    }

    func contains(_ digest: [UInt8], to environment: Environment, at moment: Timestamp) -> Bool {
        invitations[digest].map { $0.environment == environment && $0.expires > moment } ?? false
    }

    mutating func use(_ digest: [UInt8], to environment: Environment, at moment: Timestamp) -> Bool {
        guard contains(digest, to: environment, at: moment) else { return false }
        invitations[digest] = nil
        return true
    }
}
