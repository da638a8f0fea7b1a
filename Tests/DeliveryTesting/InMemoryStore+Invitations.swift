package import Delivery
package import Notifications
import Synchronization

extension InMemoryStore: Invitations {
    package func invite(_ invitation: Invitation, at moment: Timestamp) async throws(StoreError) {
        try state.withLock { state throws(StoreError) in
            state.invitations = state.invitations.filter { $0.value.expires > moment }
            guard state.invitations.count < InvitationLimits.maximumCount else { throw .tooManyInvitations }
            state.invitations[invitation.digest] = invitation
        }
    }

    package func isInvited(
        _ digest: [UInt8],
        to environment: Environment,
        at moment: Timestamp,
    ) async throws(StoreError) -> Bool {
        state.withLock { $0.isInvited(digest, to: environment, at: moment) }
    }

    package func useInvitation(
        _ digest: [UInt8],
        to environment: Environment,
        at moment: Timestamp,
    ) async throws(StoreError) -> Bool {
        state.withLock { state in
            guard state.isInvited(digest, to: environment, at: moment) else { return false }
            state.invitations[digest] = nil
            return true
        }
    }
}

extension InMemoryStore.State {
    fileprivate func isInvited(_ digest: [UInt8], to environment: Environment, at moment: Timestamp) -> Bool {
        invitations[digest].map { $0.environment == environment && $0.expires > moment } ?? false
    }
}
