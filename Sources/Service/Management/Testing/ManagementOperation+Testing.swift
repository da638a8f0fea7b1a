import Delivery
import HTTPAPI
import HTTPTypes
import Hummingbird
import Notifications
import VirtualDevices

// Fixtures, virtual devices, and notifications without a provider.
extension ManagementOperations {
    static let fixtures = [
        ManagementOperation(
            method: .post, path: "/v1/fixtures", summary: "Make everything that a test needs, or nothing",
            parameters: [
                .query(
                    "replace", .boolean,
                    "Whether teams that have a team ID, bundle ID or key ID of the document are deleted first.")
            ],
            body: Body(reading: ManagementMessages.Fixture.form.schema, maximumBytes: ManagementLimits.fixtureBytes),
            answer: .json(ManagementSchemas.completedFixture), problems: [409, 413, 415]
        ) { api, call in
            try .json(
                try await api.createFixture(call.read(ManagementMessages.Fixture.form), replaces: call.isOn("replace")))
        },
        ManagementOperation(
            method: .post, path: "/v1/notifications",
            summary: "Send a notification by the provider API's rules, without provider trust",
            parameters: [
                .query(
                    "dryRun", .boolean,
                    "Whether the notification is only checked, also by the rules of strict, and not sent.")
            ],
            body: Body(reading: ManagementMessages.NewNotification.schema),
            answer: .json(ManagementMessages.NotificationSent.schema), problems: [413, 415]
        ) { api, call in
            let isChecked = call.isOn("dryRun")
            return .json(
                isChecked ? try await api.check(call.message()) : try await api.send(call.message()))
        },
    ]

    static let virtualDevices = [
        ManagementOperation(
            method: .post, path: "/v1/devices", summary: "Make a virtual device of a team",
            body: Body(reading: ManagementMessages.NewDevice.schema),
            answer: .json(ManagementMessages.Device.schema),
            problems: [409, 413, 415]
        ) { api, call in
            .json(try await api.createDevice(call.message()))
        },
        ManagementOperation(
            method: .patch, path: "/v1/devices/{deviceID}",
            summary: "Give a virtual device another behaviour, power or channels",
            parameters: [.path("deviceID", .deviceID, "The device's ID.")],
            body: Body(reading: ManagementMessages.ChangedDevice.schema),
            answer: .json(ManagementMessages.Device.schema),
            problems: [404, 409, 413, 415]
        ) { api, call in
            .json(try await api.changeDevice(call.parameter("deviceID"), call.message()))
        },
    ]
}
