import Delivery
import HTTPTypes
import Hummingbird
import Notifications
import VirtualDevices

// Fixtures, virtual devices, and notifications without a provider.
extension ManagementOperation {
    static let fixtures = [
        ManagementOperation(
            method: .post, path: "/v1/fixtures", summary: "Make everything that a test needs, or nothing",
            parameters: [
                Parameter(
                    place: .query, name: "replace", schema: .boolean,
                    meaning: "Whether existing teams with the same IDs are deleted first.")
            ],
            body: Body(schema: ManagementSchemas.fixture, maximumBytes: ManagementLimits.fixtureBytes),
            answer: .json(ManagementSchemas.completedFixture), problems: [409, 413, 415]
        ) { api, call in
            try JSONAnswer.make(
                try await api.createFixture(call.message(), replaces: call.query("replace") == "true"))
        },
        ManagementOperation(
            method: .post, path: "/v1/notifications",
            summary: "Send a notification by the gateway's rules, without provider trust",
            parameters: [
                Parameter(
                    place: .query, name: "dryRun", schema: .boolean,
                    meaning: "Whether the notification is only checked, also by the rules of strict, and not sent.")
            ],
            body: Body(schema: ManagementSchemas.newNotification),
            answer: .json(ManagementSchemas.notificationSent), problems: [413, 415]
        ) { api, call in
            let isChecked = call.query("dryRun") == "true"
            return try JSONAnswer.make(
                isChecked ? try await api.check(call.message()) : try await api.send(call.message()))
        },
    ]

    static let virtualDevices = [
        ManagementOperation(
            method: .post, path: "/v1/devices", summary: "Make a virtual device of a team",
            body: Body(schema: ManagementSchemas.newDevice), answer: .json(ManagementSchemas.device),
            problems: [409, 413, 415]
        ) { api, call in
            try JSONAnswer.make(try await api.createDevice(call.message()))
        },
        ManagementOperation(
            method: .patch, path: "/v1/devices/{deviceID}",
            summary: "Give a virtual device another behaviour, power or channels",
            parameters: [path("deviceID", .deviceID, "The device's ID.")],
            body: Body(schema: ManagementSchemas.changedDevice), answer: .json(ManagementSchemas.device),
            problems: [404, 409, 413, 415]
        ) { api, call in
            try JSONAnswer.make(try await api.changeDevice(call.parameter("deviceID"), call.message()))
        },
    ]
}
