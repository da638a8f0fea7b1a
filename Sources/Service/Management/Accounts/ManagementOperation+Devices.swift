import HTTPAPI
import HTTPTypes
import Hummingbird
import Notifications

// Devices, and the keys of device tokens.
extension ManagementOperations {
    static let devices = [
        ManagementOperation(
            method: .get, path: "/v1/devices", summary: "All devices, virtual ones too",
            parameters: .list(after: "device ID", .deviceID),
            answer: .json(.array(ManagementMessages.Device.schema)), headers: unanswered
        ) { api, call in
            try await api.listDevices(call)
        },
        ManagementOperation(
            method: .get, path: "/v1/devices/{deviceID}", summary: "One device",
            parameters: [.path("deviceID", .deviceID, "The device's ID.")],
            answer: .json(ManagementMessages.Device.schema), headers: unanswered, problems: [404]
        ) { api, call in
            try await api.showDevice(try call.parameter("deviceID"))
        },
        ManagementOperation(
            method: .delete, path: "/v1/devices/{deviceID}", summary: "Revoke a device",
            parameters: [
                .path("deviceID", .deviceID, "The device's ID."),
                .query(
                    "environment", .string(.environment),
                    "The environment to revoke the device in; both if it is not given."),
            ],
            answer: .json(ManagementMessages.RevokedDevice.schema)
        ) { api, call in
            .json(
                try await api.revokeDevice(call.parameter("deviceID"), in: call.query("environment")))
        },
        ManagementOperation(
            method: .post, path: "/v1/token-keys",
            summary: "Make a new key that seals the device tokens of new registrations",
            body: .empty,
            answer: .json(ManagementMessages.TokenKey.schema), problems: [409, 413, 415]
        ) { api, _ in
            let number = try await api.parts.rotateTokenKey()
            return .json(ManagementMessages.TokenKey(tokenKeyID: number))
        },
    ]

    private static let unanswered = [
        OtherDevices.unansweredField:
            "In a cluster: the names of the nodes that did not answer, with commas between them. Their devices are shown as not "
            + "connected. Missing if all have answered."
    ]
}
