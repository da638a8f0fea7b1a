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
        ManagementOperation(
            method: .post, path: "/v1/grants/{id}/keys", summary: "Give a grant a second key, or a second client key",
            parameters: [grantID], body: Body(reading: ManagementMessages.NewGrantKey.schema),
            answer: .json(ManagementMessages.GrantKeyMade.schema), problems: [404, 409, 413, 415]
        ) { api, call in
            .json(try await api.addGrantKey(call.parameter("id"), call.message()))
        },
        ManagementOperation(
            method: .delete, path: "/v1/grants/{id}/keys/{keyID}", summary: "End one of two keys of a grant at once",
            parameters: [grantID, .path("keyID", .accountID, "The key's ID, as the grant shows it.")],
            answer: .json(ManagementMessages.Grant.schema), problems: [404, 409]
        ) { api, call in
            .json(try await api.endGrantKey(call.parameter("id"), call.parameter("keyID")))
        },
    ]

    static let grantHandles = [
        ManagementOperation(
            method: .get, path: "/v1/grants/{id}/handles",
            summary: "The handles of a grant, with those that have ended in the last \(listedDays) days",
            parameters: [grantID, .query("state", .string(.handleState), "Only those in this state.")]
                + .list(after: "handle", .handle),
            answer: .json(.array(ManagementMessages.GrantHandle.schema)), problems: [404]
        ) { api, call in
            try await api.listHandles(call)
        },
        ManagementOperation(
            method: .delete, path: "/v1/grants/{id}/handles/{handle}",
            summary: "Remove a handle of a grant, as the app does when its user signs out",
            parameters: [grantID, .path("handle", .handle, "The handle.")],
            answer: .json(ManagementMessages.GrantHandle.schema), problems: [404]
        ) { api, call in
            .json(try await api.removeHandle(call.parameter("id"), call.parameter("handle")))
        },
    ]

    private static let listedDays = GrantRules.listed.components.seconds / 86_400

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
