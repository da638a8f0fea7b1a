import APNSDevice
import HTTPAPI
import HTTPTypes
import Hummingbird

typealias AgentOperation = APIOperation<AgentAPI>

/// The table of operations. docs/device-agent.md has the same list, and a test compares them.
enum AgentOperations {
    static let all: [AgentOperation] = device + apps + webPush + user

    private static let bundleID = Parameter.path("bundleID", .bundleID, "The app's bundle ID.")

    // MARK: The device

    private static let device = [
        AgentOperation(
            method: .get, path: "/v1/status", summary: "The device, its connection, and the caller's apps",
            answer: .json(AgentSchemas.status.schema)
        ) { api, call in
            AgentSchemas.status.response(try await api.agent.status(for: call.caller.peer))
        },
        AgentOperation(
            method: .get, path: "/openapi.json", summary: "This description",
            answer: .json(.openObject)
        ) { _, _ in
            OpenAPI<AgentAPI>.document(
                title: "Carillon's device agent",
                description: "For the apps on this machine. docs/device-agent.md explains it.",
                key: "No request needs a key: the system says which user a process belongs to."
            ).response()
        },
    ]

    // MARK: Apps

    private static let apps = [
        AgentOperation(
            method: .put, path: "/v1/apps/{bundleID}", summary: "Register an app, at each of its starts",
            parameters: [bundleID],
            body: Body(
                reading: AgentSchemas.registration.schema, maximumBytes: AgentLimits.registrationBytes,
                isOptional: true),
            answer: .json(AgentSchemas.tokens.schema), problems: [409, 413, 429]
        ) { api, call in
            let registration = try call.read(AgentSchemas.registration)
            let record = try await api.agent.register(try await api.own(call), registration)
            return AgentSchemas.tokens.response(AppTokens(token: record.token, services: record.services))
        },
        AgentOperation(
            method: .delete, path: "/v1/apps/{bundleID}", summary: "Remove an app; its device tokens end",
            parameters: [bundleID], answer: .nothing
        ) { api, call in
            try await api.agent.remove(try await api.own(call))
            return Response(status: .noContent)
        },
        AgentOperation(
            method: .get, path: "/v1/apps/{bundleID}/events",
            summary: "The app's events: those that it has not handled, and then those that come",
            parameters: [bundleID],
            answer: .other([MediaType.lines]), problems: [404, 429]
        ) { api, call in
            let opened = try await api.agent.openStream(of: try call.parameter("bundleID"), for: call.caller.peer)
            let stream = EventStream(stream: opened, connectionEnd: call.caller.connectionEnd)
            return Response(
                status: .ok, headers: [.contentType: MediaType.lines],
                body: ResponseBody { writer in try await stream.write(to: &writer) })
        },
        AgentOperation(
            method: .post, path: "/v1/apps/{bundleID}/handled",
            summary: "The app has handled events; they do not come again",
            parameters: [bundleID], body: Body(reading: AgentSchemas.handled.schema),
            answer: .json(AgentSchemas.count.schema),
            problems: [413]
        ) { api, call in
            let count = try await api.agent.handled(try call.read(AgentSchemas.handled), of: try await api.own(call))
            return AgentSchemas.count.response(count)
        },
        AgentOperation(
            method: .post, path: "/v1/apps/{bundleID}/state",
            summary: "The app, or its user, says in which state it is",
            parameters: [bundleID], body: Body(reading: AgentSchemas.state.schema), answer: .nothing,
            problems: [404, 413]
        ) { api, call in
            let state = try call.read(AgentSchemas.state)
            try await api.agent.change(try await api.own(call, orAdministrator: true), to: state)
            return Response(status: .noContent)
        },
        AgentOperation(
            method: .put, path: "/v1/apps/{bundleID}/badge", summary: "The app changes its badge; 0 removes it",
            parameters: [bundleID], body: Body(reading: AgentSchemas.badge.schema), answer: .nothing,
            problems: [404, 413]
        ) { api, call in
            try await api.agent.setBadge(try call.read(AgentSchemas.badge), of: try await api.own(call))
            return Response(status: .noContent)
        },
        AgentOperation(
            method: .delete, path: "/v1/apps/{bundleID}/notifications/{id}",
            summary: "Take one of the app's notifications off the screen",
            parameters: [bundleID, .path("id", .uuid, "The notification's identifier.")], answer: .nothing,
            problems: [404]
        ) { api, call in
            let name = try await api.own(call)
            guard await api.agent.withdraw(try call.parameter("id").lowercased(), of: name) else {
                throw Problem.notFound("The notification is not on show.")
            }
            return Response(status: .noContent)
        },
        AgentOperation(
            method: .post, path: "/v1/apps/{bundleID}/notifications/{id}",
            summary: "The user responds to a notification on the app's own screen",
            parameters: [bundleID, .path("id", .uuid, "The notification's identifier.")],
            body: Body(reading: AgentSchemas.response.schema), answer: .nothing, problems: [404, 413]
        ) { api, call in
            let response = try call.read(AgentSchemas.response)
            let name = try await api.own(call)
            let isKnown = try await api.agent.respond(
                to: try call.parameter("id").lowercased(), try response.value(), of: name)
            guard isKnown else { throw Problem.notFound("The notification is not on show, or has no such action.") }
            return Response(status: .noContent)
        },
    ]

    // MARK: Web Push

    private static let subscription = Parameter.path(
        "name", .line(maximumBytes: AgentLimits.subscriptionNameBytes), "The app's name for the subscription.")

    private static let webPush = [
        AgentOperation(
            method: .get, path: "/v1/apps/{bundleID}/subscriptions", summary: "The app's subscriptions to Web Push",
            parameters: [bundleID], answer: .json(AgentSchemas.subscriptions.schema), problems: [404, 409]
        ) { api, call in
            AgentSchemas.subscriptions.response(try await api.agent.subscriptions(of: try await api.own(call)))
        },
        AgentOperation(
            method: .put, path: "/v1/apps/{bundleID}/subscriptions/{name}",
            summary: "Subscribe to Web Push, at each start; the answer has the endpoint for servers",
            parameters: [bundleID, subscription],
            body: Body(
                reading: AgentSchemas.subscriptionOptions.schema, maximumBytes: AgentLimits.subscriptionBytes,
                isOptional: true),
            answer: .json(AgentSchemas.endpoint.schema), problems: [404, 409, 413, 429]
        ) { api, call in
            let options = try call.read(AgentSchemas.subscriptionOptions)
            let name = try await api.own(call)
            return AgentSchemas.endpoint.response(
                try await api.agent.subscribe(name, as: try call.parameter("name"), options))
        },
        AgentOperation(
            method: .delete, path: "/v1/apps/{bundleID}/subscriptions/{name}",
            summary: "End a subscription; its endpoint is never valid again",
            parameters: [bundleID, subscription], answer: .nothing, problems: [404, 409]
        ) { api, call in
            try await api.agent.unsubscribe(try await api.own(call), from: try call.parameter("name"))
            return Response(status: .noContent)
        },
    ]

    // MARK: The user

    private static let user = [
        AgentOperation(
            method: .get, path: "/v1/settings", summary: "The user's settings for the device and its apps",
            answer: .json(AgentSchemas.settings.schema), access: .administrator
        ) { api, _ in
            AgentSchemas.settings.response(await api.agent.settingsDocument())
        },
        AgentOperation(
            method: .put, path: "/v1/settings", summary: "Whether the user does not want to be disturbed",
            body: Body(reading: AgentSchemas.quiet.schema), answer: .json(AgentSchemas.settings.schema),
            problems: [413],
            access: .administrator
        ) { api, call in
            try await api.agent.setQuiet(try call.read(AgentSchemas.quiet))
            return AgentSchemas.settings.response(await api.agent.settingsDocument())
        },
        AgentOperation(
            method: .put, path: "/v1/apps/{bundleID}/settings", summary: "Change the user's settings for an app",
            parameters: [bundleID], body: Body(reading: AgentSchemas.appSettings.schema),
            answer: .json(AgentSchemas.appSettings.schema),
            problems: [404, 413], access: .administrator
        ) { api, call in
            let settings = try await api.agent.change(
                try call.read(AgentSchemas.appSettings), of: try call.parameter("bundleID"))
            return AgentSchemas.appSettings.response(AppSettingsDocument(settings))
        },
    ]
}

extension AgentAPI {
    /// The bundle ID in the path, if the caller may be that app.
    fileprivate func own(_ call: Call<AgentCaller>, orAdministrator: Bool = false) async throws -> String {
        let name = try call.parameter("bundleID")
        if orAdministrator, agent.isAdministrator(call.caller.peer) { return name }
        _ = try await agent.manifest(of: name, for: call.caller.peer)
        return name
    }
}

/// The device tokens of an app that has registered.
struct AppTokens: Sendable {
    let token: String
    let services: [String: String]
}

/// The user's response on the app's own screen.
struct UserResponse: Sendable {
    let response: String
    let action: String?

    func value() throws -> NotificationResponse {
        switch (response, action) {
        case ("open", nil): .open
        case ("dismiss", nil): .dismiss
        case ("action", let action?): .action(action)
        default: throw Problem.invalid("/action", "The response action names an action, and the others do not.")
        }
    }
}
