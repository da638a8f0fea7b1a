import HTTPAPI
import HTTPTypes
import Hummingbird
import Notifications

// The certificates with which administrators use the API over TLS.
extension ManagementOperations {
    static let administrators = [
        ManagementOperation(
            method: .get, path: "/v1/administrators", summary: "All administrators' certificates that have not expired",
            parameters: .list(after: "serial"), answer: .json(.array(ManagementMessages.Administrator.schema))
        ) { api, call in
            let administrators = api.administrators
            return ListPage.make(
                of: administrators.keys.map(\.description), call, spelled: CertificateSerial.spelling
            ) { name in
                CertificateSerial(name).flatMap { administrators[$0] }.map { api.message($0) }
            }
        },
        ManagementOperation(
            method: .post, path: "/v1/administrators",
            summary: "Make an administrator's certificate; only over the Unix socket",
            body: .empty,
            answer: .json(ManagementMessages.AdministratorMade.schema), problems: [409, 413, 415]
        ) { api, call in
            guard call.caller.kind.mayMakeAdministrators else {
                throw Problem(403, "Administrators can be made only over the socket in the data folder.")
            }
            return .json(try await api.makeAdministrator())
        },
        ManagementOperation(
            method: .get, path: "/v1/administrators/{serial}", summary: "One administrator's certificate",
            parameters: [serial], answer: .json(ManagementMessages.Administrator.schema), problems: [404]
        ) { api, call in
            .json(try api.administrator(call.parameter("serial")))
        },
        ManagementOperation(
            method: .delete, path: "/v1/administrators/{serial}", summary: "Revoke an administrator's certificate",
            parameters: [
                serial,
                .query("unlisted", .boolean, "true: also if the certificate is not listed; only over the Unix socket."),
            ],
            answer: .json(ManagementMessages.AdministratorRevoked.schema), problems: [404, 409]
        ) { api, call in
            .json(
                try await api.revokeAdministrator(
                    call.parameter("serial"), isUnlisted: call.isOn("unlisted"), by: call.caller.kind))
        },
    ]
}
