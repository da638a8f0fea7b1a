import HTTPAPI
import HTTPTypes
import Hummingbird

// The one-time activation codes of devices.
extension ManagementOperations {
    static let invitations = [
        ManagementOperation(
            method: .get, path: "/v1/invitations", summary: "The unused activation codes, by their IDs",
            parameters: .list(after: "invitation's ID", .invitationID),
            answer: .json(.array(ManagementMessages.Invitation.schema))
        ) { api, call in
            try await api.listInvitations(call)
        },
        ManagementOperation(
            method: .post, path: "/v1/invitations", summary: "Make a one-time activation code for a device",
            body: Body(reading: ManagementMessages.NewInvitation.schema),
            answer: .json(ManagementMessages.InvitationMade.schema),
            problems: [409, 413, 415]
        ) { api, call in
            .json(try await api.invite(call.message()))
        },
        ManagementOperation(
            method: .get, path: "/v1/invitations/{id}", summary: "One unused activation code", parameters: [id],
            answer: .json(ManagementMessages.Invitation.schema), problems: [404]
        ) { api, call in
            .json(try await api.invitation(call.parameter("id")))
        },
        ManagementOperation(
            method: .delete, path: "/v1/invitations/{id}",
            summary: "Withdraw an activation code, so that no device can use it", parameters: [id],
            answer: .json(ManagementMessages.Invitation.schema), problems: [404]
        ) { api, call in
            .json(try await api.withdrawInvitation(call.parameter("id")))
        },
    ]

    private static let id = Parameter.path(
        "id", .invitationID, "The invitation's ID. It is not the code, which is a secret.")
}
