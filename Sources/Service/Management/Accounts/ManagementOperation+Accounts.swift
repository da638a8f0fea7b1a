import Credentials
import Delivery
import Foundation
import HTTPAPI
import HTTPTypes
import Hummingbird
import Notifications

// Teams, apps, keys and certificates.
extension ManagementOperations {
    static let teams = [
        ManagementOperation(
            method: .get, path: "/v1/teams", summary: "All teams", parameters: .list(after: "team ID"),
            answer: .json(.array(ManagementMessages.Team.schema))
        ) { api, call in
            let accounts = api.accounts.current
            return ListPage.make(of: accounts.teams, call) { api.message($0, accounts) }
        },
        ManagementOperation(
            method: .post, path: "/v1/teams", summary: "Make a team",
            body: Body(reading: ManagementMessages.NewTeam.schema),
            answer: .json(ManagementMessages.TeamMade.schema), problems: [409, 413, 415]
        ) { api, call in
            .json(try await api.createTeam(call.message()))
        },
        ManagementOperation(
            method: .get, path: "/v1/teams/{teamID}", summary: "One team", parameters: [teamID],
            answer: .json(ManagementMessages.Team.schema), problems: [404]
        ) { api, call in
            .json(try api.team(call.parameter("teamID")))
        },
        ManagementOperation(
            method: .delete, path: "/v1/teams/{teamID}",
            summary: "Delete a team with its apps, keys and certificates", parameters: [teamID],
            answer: .json(ManagementMessages.Team.schema), problems: [404]
        ) { api, call in
            .json(try await api.deleteTeam(call.parameter("teamID")))
        },
    ]

    static let apps = [
        ManagementOperation(
            method: .get, path: "/v1/apps", summary: "All apps", parameters: .list(after: "bundle ID"),
            answer: .json(.array(ManagementMessages.App.schema))
        ) { api, call in
            ListPage.make(of: api.accounts.current.apps, call) { api.message($0) }
        },
        ManagementOperation(
            method: .post, path: "/v1/apps", summary: "Make an app of a team",
            body: Body(reading: ManagementMessages.NewApp.schema), answer: .json(ManagementMessages.AppMade.schema),
            problems: [409, 413, 415]
        ) { api, call in
            .json(try await api.createApp(call.message()))
        },
        ManagementOperation(
            method: .get, path: "/v1/apps/{bundleID}", summary: "One app, with every topic that reaches it",
            parameters: [bundleID], answer: .json(ManagementMessages.App.schema), problems: [404]
        ) { api, call in
            .json(try api.app(call.parameter("bundleID")))
        },
        ManagementOperation(
            method: .patch, path: "/v1/apps/{bundleID}",
            summary:
                "Set how many notifications an app keeps for a device, or switch its broadcast channels on or off, and "
                + "delete them",
            parameters: [bundleID], body: Body(reading: ManagementMessages.AppChange.schema),
            answer: .json(ManagementMessages.App.schema), problems: [404, 409, 413, 415]
        ) { api, call in
            .json(try await api.changeApp(call.parameter("bundleID"), call.message()))
        },
        ManagementOperation(
            method: .delete, path: "/v1/apps/{bundleID}",
            summary: "Delete an app with its certificates, registrations and stored notifications",
            parameters: [bundleID],
            answer: .json(ManagementMessages.App.schema), problems: [404]
        ) { api, call in
            .json(try await api.deleteApp(call.parameter("bundleID")))
        },
    ]

    static let keys = [
        ManagementOperation(
            method: .get, path: "/v1/keys", summary: "All signing keys", parameters: .list(after: "key ID"),
            answer: .json(.array(ManagementMessages.Key.schema))
        ) { api, call in
            ListPage.make(of: api.accounts.current.keys, call) { api.message($0) }
        },
        ManagementOperation(
            method: .post, path: "/v1/keys",
            summary: "Make a signing key of a team, or register one that it already has",
            body: Body(reading: ManagementMessages.NewKey.schema), answer: .json(ManagementMessages.KeyMade.schema),
            problems: [409, 413, 415]
        ) { api, call in
            .json(try await api.createKey(call.message()))
        },
        ManagementOperation(
            method: .get, path: "/v1/keys/{keyID}", summary: "One signing key", parameters: [keyID],
            answer: .json(ManagementMessages.Key.schema), problems: [404]
        ) { api, call in
            .json(try api.key(call.parameter("keyID")))
        },
        ManagementOperation(
            method: .delete, path: "/v1/keys/{keyID}", summary: "Revoke a signing key", parameters: [keyID],
            answer: .json(ManagementMessages.KeyRevoked.schema), problems: [404]
        ) { api, call in
            .json(try await api.revokeKey(call.parameter("keyID")))
        },
    ]

    static let certificates = [
        ManagementOperation(
            method: .get, path: "/v1/certificates", summary: "All provider certificates",
            parameters: .list(after: "serial"), answer: .json(.array(ManagementMessages.Certificate.schema))
        ) { api, call in
            let accounts = api.accounts.current
            return ListPage.make(
                of: accounts.certificates.keys.map(\.description), call, spelled: CertificateSerial.spelling
            ) { name in
                CertificateSerial(name).flatMap { accounts.certificates[$0] }.map { api.message($0) }
            }
        },
        ManagementOperation(
            method: .post, path: "/v1/certificates", summary: "Make a provider certificate",
            body: Body(reading: ManagementMessages.NewCertificate.schema),
            answer: .json(ManagementMessages.CertificateMade.schema),
            problems: [409, 413, 415]
        ) { api, call in
            .json(try await api.createCertificate(call.message()))
        },
        ManagementOperation(
            method: .get, path: "/v1/certificates/{serial}", summary: "One provider certificate",
            parameters: [serial], answer: .json(ManagementMessages.Certificate.schema), problems: [404]
        ) { api, call in
            .json(try api.certificate(call.parameter("serial")))
        },
        ManagementOperation(
            method: .delete, path: "/v1/certificates/{serial}", summary: "Revoke a provider certificate",
            parameters: [serial], answer: .json(ManagementMessages.CertificateRevoked.schema), problems: [404]
        ) { api, call in
            .json(try await api.revokeCertificate(call.parameter("serial")))
        },
        ManagementOperation(
            method: .get, path: "/v1/crl", summary: "The list of revoked provider certificates (RFC 5280)",
            answer: .other([RevocationList.mediaType])
        ) { api, _ in
            Response(.ok, RevocationList.mediaType, Data(try api.parts.revocationList().der))
        },
    ]

    private static let teamID = Parameter.path("teamID", .accountID, "The team's ID.")
    private static let bundleID = Parameter.path("bundleID", .bundleID, "The app's bundle ID.")
    private static let keyID = Parameter.path("keyID", .accountID, "The key's ID.")
    /// Of a provider's or an administrator's certificate.
    static let serial = Parameter.path("serial", .serial, "The certificate's serial.")
}
