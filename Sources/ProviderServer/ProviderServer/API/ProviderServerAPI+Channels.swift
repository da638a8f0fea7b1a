import APNSProvider
import CampaignStore
import HTTPAPI
import HTTPTypes
import Hummingbird
import Notifications

// Requests about broadcast channels, to which the devices of an app subscribe by themselves.
extension ProviderServerAPI {
    private static let environment = Parameter.query(
        "environment", .string(.environment), "The environment of the channel; production, if it is missing.")

    static let channelOperations: [ProviderOperation] = [
        ProviderOperation(
            method: .post, path: "/v1/channels", summary: "Make a broadcast channel", parameters: Parameter.app,
            body: Body(reading: ChannelRequest.form.schema, maximumBytes: ProviderServerLimits.installationBytes),
            answer: .json(ChannelView.form.schema, status: 201), problems: [404, 409, 413]
        ) { api, call in
            let request = try call.read(ChannelRequest.form)
            let app = try api.access.sendingApp(call, bundleID: request.bundleID)
            let environment = request.environment.flatMap { Notifications.Environment(rawValue: $0) } ?? .production
            try app.checkEnvironment(environment)
            let keeps = request.keeps ?? "newest"
            let id = try await api.channels.with(app, environment) { manager in
                try await manager.create(keeping: keeps == "newest" ? .newest : .nothing, for: app.bundleID)
            }
            return ChannelView.form.response(
                ChannelView(id: id, environment: environment.rawValue, keeps: keeps), .created)
        },
        ProviderOperation(
            method: .get, path: "/v1/channels", summary: "List an app's broadcast channels",
            parameters: Parameter.app + [environment], answer: .json(.page(of: ChannelView.form.schema)),
            problems: [404, 409]
        ) { api, call in
            let app = try api.access.sendingApp(call)
            let environment = call.environment
            let ids = try await api.channels.with(app, environment) { try await $0.list(of: app.bundleID) }
            return list(
                ids.map { ChannelView(id: $0, environment: environment.rawValue, keeps: nil) }, ChannelView.form)
        },
        ProviderOperation(
            method: .delete, path: "/v1/channels/{id}", summary: "Delete a broadcast channel",
            parameters: [.path("id", .line(maximumBytes: 128), "The channel.")] + Parameter.app + [environment],
            answer: .nothing, problems: [404, 409]
        ) { api, call in
            let app = try api.access.sendingApp(call)
            let id = try call.parameter("id")
            try await api.channels.with(app, call.environment) { try await $0.delete(id, of: app.bundleID) }
            return Response(status: .noContent)
        },
    ]
}

extension Call {
    fileprivate var environment: Notifications.Environment {
        query("environment").flatMap { Notifications.Environment(rawValue: $0) } ?? .production
    }
}

/// A channel to make.
private struct ChannelRequest: Sendable {
    let bundleID: String?
    let environment: String?
    let keeps: String?

    static let form: JSONForm<ChannelRequest> = JSONForm.object(
        "ChannelRequest", { ChannelRequest(bundleID: $0, environment: $1, keeps: $2) },
        .optional("bundleID", .text(.bundleID), \.bundleID, "The app. A key of an app needs no name."),
        .optional("environment", .text(.environment), \.environment, "production, if it is missing."),
        .optional(
            "keeps", .text(.oneOf(["newest", "nothing"])), \.keeps,
            "What the channel stores for devices that are offline; newest, if it is missing."))
}

/// A channel as the API shows it.
private struct ChannelView: Sendable {
    let id: String
    let environment: String
    let keeps: String?

    static let form: JSONForm<ChannelView> = JSONForm.object(
        "Channel", { ChannelView(id: $0, environment: $1, keeps: $2) },
        .required("id", .text(.any), \.id),
        .required("environment", .text(.any), \.environment),
        .optional("keeps", .text(.any), \.keeps, "Only the answer that makes the channel has it."))
}
