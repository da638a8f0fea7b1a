import Delivery
import HTTPAPI
import HTTPTypes
import Hummingbird
import Notifications

// What instances may send through the gateway (docs/gateway.md).
extension ManagementOperations {
    static let grants = [
        ManagementOperation(
            method: .get, path: "/v1/grants", summary: "All grants of instances, and what they sent",
            parameters: .list(after: "grant's ID", .grantID), answer: .json(.array(ManagementMessages.Grant.schema))
        ) { api, call in
            try await api.listGrants(call)
        },
        ManagementOperation(
            method: .post, path: "/v1/grants", summary: "Make a grant for an instance",
            body: Body(reading: ManagementMessages.NewGrant.schema), answer: .json(ManagementMessages.GrantMade.schema),
            problems: [409, 413, 415]
        ) { api, call in
            .json(try await api.createGrant(call.message()))
        },
        ManagementOperation(
            method: .get, path: "/v1/grants/{id}", summary: "One grant, and what it sent", parameters: [grantID],
            answer: .json(ManagementMessages.Grant.schema), problems: [404]
        ) { api, call in
            .json(try await api.grant(call.parameter("id")))
        },
        ManagementOperation(
            method: .patch, path: "/v1/grants/{id}", summary: "Change, suspend or resume a grant",
            parameters: [grantID], body: Body(reading: ManagementMessages.GrantChange.schema),
            answer: .json(ManagementMessages.Grant.schema), problems: [404, 409, 413, 415]
        ) { api, call in
            .json(try await api.changeGrant(call.parameter("id"), call.message()))
        },
        ManagementOperation(
            method: .delete, path: "/v1/grants/{id}", summary: "Revoke a grant with its keys and its handles",
            parameters: [grantID], answer: .json(ManagementMessages.Grant.schema), problems: [404]
        ) { api, call in
            .json(try await api.revokeGrant(call.parameter("id")))
        },
    ]

    static let grantInvitations = [
        ManagementOperation(
            method: .get, path: "/v1/grant-invitations",
            summary: "The unused invitations to make a grant, by their IDs",
            parameters: .list(after: "invitation's ID", .invitationID),
            answer: .json(.array(ManagementMessages.GrantInvitation.schema))
        ) { api, call in
            try await api.listGrantInvitations(call)
        },
        ManagementOperation(
            method: .post, path: "/v1/grant-invitations", summary: "Let an instance make its own grant, once",
            body: Body(reading: ManagementMessages.NewGrantInvitation.schema),
            answer: .json(ManagementMessages.GrantInvitationMade.schema), problems: [409, 413, 415]
        ) { api, call in
            .json(try await api.inviteGrant(call.message()))
        },
        ManagementOperation(
            method: .delete, path: "/v1/grant-invitations/{id}",
            summary: "Withdraw an invitation, so that no instance can use it", parameters: [invitationID],
            answer: .json(ManagementMessages.GrantInvitation.schema), problems: [404]
        ) { api, call in
            .json(try await api.withdrawGrantInvitation(call.parameter("id")))
        },
    ]

    private static let grantID = Parameter.path("id", .grantID, "The grant's ID.")
    private static let invitationID = Parameter.path(
        "id", .invitationID, "The invitation's ID. It is not the code, which is a secret.")
}
