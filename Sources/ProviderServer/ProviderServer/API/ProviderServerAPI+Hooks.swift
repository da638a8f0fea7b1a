import CampaignStore
import Connections
import Foundation
import HTTPAPI
import HTTPTypes
import Hummingbird
import Notifications

// Requests about hooks: the organisation's addresses that receive events.
extension ProviderServerAPI {
    private static let id = Parameter.path("id", .identifier, "The hook.")

    static let hookOperations: [ProviderOperation] = [
        ProviderOperation(
            method: .post, path: "/v1/hooks", summary: "Add an address that receives events", parameters: Parameter.app,
            body: Body(reading: ProviderMessages.HookRequest.schema, maximumBytes: ProviderServerLimits.bodyBytes),
            answer: .json(ProviderMessages.Hook.schema, status: 201), problems: [404, 409, 413]
        ) { api, call in
            try await api.postHook(call)
        },
        ProviderOperation(
            method: .get, path: "/v1/hooks", summary: "List an app's hooks", parameters: Parameter.app,
            answer: .json(.page(of: ProviderMessages.Hook.schema)), problems: [404]
        ) { api, call in
            let app = try api.access.sendingApp(call)
            let hooks = try await api.store.hooks(app: app.number)
            return list(hooks.map { ProviderMessages.Hook($0, app) })
        },
        ProviderOperation(
            method: .delete, path: "/v1/hooks/{id}", summary: "Remove a hook", parameters: [id] + Parameter.app,
            answer: .nothing, problems: [404]
        ) { api, call in
            let app = try api.access.sendingApp(call)
            let id = try call.parameter("id")
            guard try await api.store.deleteHook(id, app: app.number) else {
                throw noHook(id)
            }
            return Response(status: .noContent)
        },
        ProviderOperation(
            method: .get, path: "/v1/hooks/{id}/deliveries", summary: "List what was sent to a hook, the newest first",
            parameters: [id] + Parameter.app + Parameter.page,
            answer: .json(.page(of: ProviderMessages.Delivery.schema)),
            problems: [404]
        ) { api, call in
            try await api.listDeliveries(call)
        },
    ]

    private func postHook(_ call: ProviderCall) async throws -> Response {
        let request: ProviderMessages.HookRequest = try call.message()
        let app = try access.sendingApp(call, bundleID: request.bundleID)
        // Whoever has an app's key need not be somebody who may reach what listens on this machine only.
        if case .server = call.caller, !allowsLocalHooks, request.url.host.mayBeThisMachine {
            throw Problem(
                403,
                "An app's key may add no hook on the server's own machine, unless the server was started with "
                    + "--local-hooks. The administrator's key may.", pointer: "/url")
        }
        let (id, secret) = (UUID().uuidString.lowercased(), HookSecret())
        let sealed = try vault.seal(.hookSecret(secret.text), name: CredentialVault.hookName(id))
        let hook = Hook(id: id, app: app.number, url: request.url.text, sealedSecret: sealed)
        try await store.add(hook, limit: ProviderServerLimits.hooks)
        return .json(ProviderMessages.Hook(hook, app, secret: secret.text), .created)
    }

    private static func noHook(_ id: String) -> Problem { .notFound("There is no hook \(id).") }

    private func listDeliveries(_ call: ProviderCall) async throws -> Response {
        let app = try access.sendingApp(call)
        let id = try call.parameter("id")
        guard try await store.hooks(app: app.number).contains(where: { $0.id == id }) else {
            throw Self.noHook(id)
        }
        let page = try await store.deliveries(hook: id, app: app.number, before: call.after, limit: call.limit)
        return Self.list(page.map(ProviderMessages.Delivery.init(_:)), next: call.next(after: page, \.number))
    }
}
