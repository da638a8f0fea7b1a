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

    /// - Returns: nil if there is none that has not expired.
    func invitation(_ digest: [UInt8], at moment: Timestamp) -> Invitation? {
        guard let invitation = invitations[digest], invitation.expires > moment else { return nil }
        return invitation
    }

    /// The invitations that have not expired, in the order of their digests.
    func page(after digest: [UInt8]?, limit: Int, at moment: Timestamp) -> [Invitation] {
        let rest = invitations.values.filter { invitation in
            invitation.expires > moment
                && (digest.map { $0.lexicographicallyPrecedes(invitation.digest) } ?? true)
        }
        return Array(rest.sorted { $0.digest.lexicographicallyPrecedes($1.digest) }.prefix(limit))
    }

    mutating func use(_ digest: [UInt8], to environment: Environment, at moment: Timestamp) -> Bool {
        guard invitation(digest, at: moment)?.environment == environment else { return false }
        invitations[digest] = nil
        return true
    }

    mutating func withdraw(_ digest: [UInt8], at moment: Timestamp) -> Invitation? {
        guard let invitation = invitation(digest, at: moment) else { return nil }
        invitations[digest] = nil
        return invitation
    }
}
