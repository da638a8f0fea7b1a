package import Delivery
package import Notifications
import Synchronization

extension MemoryStore: Invitations {
    package func invite(_ invitation: Invitation, at moment: Timestamp) async throws(StoreError) {
        guard invitations.withLock({ $0.insert(invitation, at: moment) }) else { throw .tooManyInvitations }
    }

    package func invitation(_ digest: [UInt8], at moment: Timestamp) async throws(StoreError) -> Invitation? {
        invitations.withLock { $0.invitation(digest, at: moment) }
    }

    package func invitations(
        after digest: [UInt8]?,
        limit: Int,
        at moment: Timestamp,
    ) async throws(StoreError) -> [Invitation] {
        // Sort a copy, so that no device waits for the lock meanwhile.
        invitations.withLock { $0 }.page(after: digest, limit: limit, at: moment)
    }

    package func useInvitation(
        _ digest: [UInt8],
        to environment: Environment,
        at moment: Timestamp,
    ) async throws(StoreError) -> Bool {
        invitations.withLock { $0.use(digest, to: environment, at: moment) }
    }

    package func withdrawInvitation(
        _ digest: [UInt8],
        at moment: Timestamp,
    ) async throws(StoreError) -> Invitation? {
        invitations.withLock { $0.withdraw(digest, at: moment) }
    }
}
