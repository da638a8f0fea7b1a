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
            body: Body(
                reading: ProviderMessages.ChannelRequest.schema, maximumBytes: ProviderServerLimits.installationBytes),
            answer: .json(ProviderMessages.Channel.schema, status: 201), problems: [404, 409, 413]
        ) { api, call in
            let request: ProviderMessages.ChannelRequest = try call.message()
            let app = try api.access.sendingApp(call, bundleID: request.bundleID)
            let environment = request.environment ?? .production
            try app.checkEnvironment(environment)
            let keeps = request.keeps ?? "newest"
            let id = try await api.channels.with(app, environment) { manager in
                try await manager.create(keeping: keeps == "newest" ? .newest : .nothing, for: app.bundleID)
            }
            return .json(
                ProviderMessages.Channel(id: id, environment: environment.rawValue, keeps: keeps), .created)
        },
        ProviderOperation(
            method: .get, path: "/v1/channels", summary: "List an app's broadcast channels",
            parameters: Parameter.app + [environment], answer: .json(.page(of: ProviderMessages.Channel.schema)),
            problems: [404, 409]
        ) { api, call in
            let app = try api.access.sendingApp(call)
            let environment = call.environment
            let ids = try await api.channels.with(app, environment) { try await $0.list(of: app.bundleID) }
            return list(
                ids.map { ProviderMessages.Channel(id: $0, environment: environment.rawValue, keeps: nil) })
        },
        ProviderOperation(
            method: .delete, path: "/v1/channels/{id}", summary: "Delete a broadcast channel",
            parameters: [.path("id", .channel, "The channel.")] + Parameter.app + [environment],
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
