package import Delivery
package import Notifications
import Synchronization

extension MemoryStore: Invitations {
    package func invite(_ invitation: Invitation, at moment: Timestamp) async throws(StoreError) {
        guard invitations.withLock({ $0.insert(invitation, at: moment) }) else { throw .tooManyInvitations }
    }

    package func isInvited(
        _ digest: [UInt8],
        to environment: Environment,
        at moment: Timestamp,
    ) async throws(StoreError) -> Bool {
        invitations.withLock { $0.contains(digest, to: environment, at: moment) }
    }

    package func useInvitation(
        _ digest: [UInt8],
        to environment: Environment,
        at moment: Timestamp,
    ) async throws(StoreError) -> Bool {
        invitations.withLock { $0.use(digest, to: environment, at: moment) }
    }
}
