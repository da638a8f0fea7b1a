import Delivery
import HTTPAPI
import Hummingbird
import Notifications
import Trust

// Invites devices, and lists and withdraws invitations.
extension ManagementAPI {
    func invite(_ request: ManagementMessages.NewInvitation) async throws -> ManagementMessages.InvitationMade {
        var random = SystemRandomNumberGenerator()
        let code = ActivationCode.random(using: &random)
        let now = now
        let invitation = Invitation(
            digest: code.digest,
            environment: try environment(request.environment),
            expires: now.advanced(by: InvitationLimits.life),
        )
        try await parts.invitations.invite(invitation, at: now)
        return ManagementMessages.InvitationMade(
            code: code.text, id: invitation.id, expires: invitation.expires.milliseconds)
    }

    func listInvitations(_ call: ManagementCall) async throws -> Response {
        let after = try call.query("after").map { try invitationDigest($0) }
        // One more than the page has shows whether there is another page.
        // fits: at most APILimits.listItems
        let invitations = try await parts.invitations.invitations(after: after, limit: call.limit + 1, at: now)
        return ListPage.answer(invitations.map { message($0) }, name: \.id, call)
    }

    func invitation(_ id: String) async throws -> ManagementMessages.Invitation {
        let digest = try invitationDigest(id)
        return message(
            try present(await parts.invitations.invitation(digest, at: now), "device invitation", id))
    }

    func withdrawInvitation(_ id: String) async throws -> ManagementMessages.Invitation {
        let digest = try invitationDigest(id)
        return message(
            try present(await parts.invitations.withdrawInvitation(digest, at: now), "device invitation", id))
    }

    private func message(_ invitation: Invitation) -> ManagementMessages.Invitation {
        ManagementMessages.Invitation(
            id: invitation.id, environment: invitation.environment.rawValue,
            expires: invitation.expires.milliseconds)
    }
}
