import CampaignStore
import Connections
import Foundation
import HTTPAPI
import HTTPTypes
import Hummingbird
import Notifications

// Requests about hooks: the organisation's addresses that receive events.
extension ProviderServerAPI {
    private static let id = Parameter.path("id", .line(maximumBytes: 64), "The hook.")

    static let hookOperations: [ProviderOperation] = [
        ProviderOperation(
            method: .post, path: "/v1/hooks", summary: "Add an address that receives events", parameters: Parameter.app,
            body: Body(reading: HookRequest.form.schema, maximumBytes: ProviderServerLimits.bodyBytes),
            answer: .json(HookView.form.schema, status: 201), problems: [404, 409, 413]
        ) { api, call in
            try await api.postHook(call)
        },
        ProviderOperation(
            method: .get, path: "/v1/hooks", summary: "List an app's hooks", parameters: Parameter.app,
            answer: .json(.page(of: HookView.form.schema)), problems: [404]
        ) { api, call in
            let app = try api.access.sendingApp(call)
            let hooks = try await api.store.hooks(app: app.number)
            return list(hooks.map { HookView($0, app) }, HookView.form)
        },
        ProviderOperation(
            method: .delete, path: "/v1/hooks/{id}", summary: "Remove a hook", parameters: [id] + Parameter.app,
            answer: .nothing, problems: [404]
        ) { api, call in
            let app = try api.access.sendingApp(call)
            let id = try call.parameter("id")
            guard try await api.store.deleteHook(id, app: app.number) else {
                throw Problem.notFound("There is no hook \(id).")
            }
            return Response(status: .noContent)
        },
        ProviderOperation(
            method: .get, path: "/v1/hooks/{id}/deliveries", summary: "List what was sent to a hook, the newest first",
            parameters: [id] + Parameter.app + Parameter.page, answer: .json(.page(of: DeliveryView.form.schema)),
            problems: [404]
        ) { api, call in
            try await api.listDeliveries(call)
        },
    ]

    private func postHook(_ call: ProviderCall) async throws -> Response {
        let request = try call.read(HookRequest.form)
        let app = try access.sendingApp(call, bundleID: request.bundleID)
        // Whoever has an app's key need not be somebody who may reach what listens on this machine only.
        if case .server = call.caller, !allowsLocalHooks,
            URLComponents(string: request.url)?.host?.mayBeThisMachine ?? true
        {
            throw Problem(
                403,
                "An app's key may add no hook on the server's own machine, unless the server was started with "
                    + "--local-hooks. The administrator's key may.", pointer: "/url")
        }
        let (id, secret) = (UUID().uuidString.lowercased(), HookSecret())
        let sealed = try vault.seal(.hookSecret(secret.text), name: CredentialVault.hookName(id))
        let hook = Hook(id: id, app: app.number, url: request.url, sealedSecret: sealed)
        try await store.add(hook, limit: ProviderServerLimits.hooks)
        return HookView.form.response(HookView(hook, app, secret: secret.text), .created)
    }

    private func listDeliveries(_ call: ProviderCall) async throws -> Response {
        let app = try access.sendingApp(call)
        let id = try call.parameter("id")
        guard try await store.hooks(app: app.number).contains(where: { $0.id == id }) else {
            throw Problem.notFound("There is no hook \(id).")
        }
        let page = try await store.deliveries(hook: id, app: app.number, before: call.after, limit: call.limit)
        return Self.list(page.map { DeliveryView($0) }, DeliveryView.form, next: call.next(after: page, \.number))
    }
}

/// A hook to add.
private struct HookRequest: Sendable {
    let bundleID: String?
    let url: String

    static let form: JSONForm<HookRequest> = JSONForm.object(
        "HookRequest", { HookRequest(bundleID: $0, url: $1) },
        .optional("bundleID", .text(.bundleID), \.bundleID, "The app. A key of an app needs no name."),
        .required("url", .text(url), \.url, "Where events are sent."))

    /// It needs TLS, because events name users' devices.
    private static let url = TextFormat("https://…, or http:// on this machine") { text in
        guard TextFormat.line(maximumBytes: ProviderServerLimits.hookURLBytes).allows(text),
            let parts = URLComponents(string: text), let host = parts.host, !host.isEmpty, parts.user == nil,
            // Another port fits into no packet.
            parts.port.map({ (1...65_535).contains($0) }) ?? true
        else { return false }
        let scheme = parts.scheme?.lowercased()
        return scheme == "https" || (scheme == "http" && host.isLoopbackHost)
    }
}

/// A hook as the API shows it.
private struct HookView: Sendable {
    let id: String
    let bundleID: String
    let url: String
    let secret: String?

    static let form: JSONForm<HookView> = JSONForm.object(
        "Hook", { HookView(id: $0, bundleID: $1, url: $2, secret: $3) },
        .required("id", .text(.any), \.id),
        .required("bundleID", .text(.any), \.bundleID),
        .required("url", .text(.any), \.url),
        .optional(
            "secret", .text(.any), \.secret, "The key of the signatures. Only the answer that adds the hook has it."))
}

extension HookView {
    init(_ hook: Hook, _ app: ProviderApp, secret: String? = nil) {
        self.init(id: hook.id, bundleID: app.bundleID, url: hook.url, secret: secret)
    }
}

/// One event for a hook, as the API shows it.
private struct DeliveryView: Sendable {
    let id: String
    let type: String
    let createdAt: String
    let attempts: Int64
    let state: String
    let nextAttemptAt: String?
    let status: Int64?
    let cause: String?

    static let form: JSONForm<DeliveryView> = JSONForm.object(
        "Delivery",
        DeliveryView.init(id:type:createdAt:attempts:state:nextAttemptAt:status:cause:),
        .required("id", .text(.any), \.id, "The same in every attempt."),
        .required("type", .text(.any), \.type, "The type of the event, such as message.finished."),
        .required("createdAt", .text(.any), \.createdAt),
        .required("attempts", .integer(), \.attempts),
        .required("state", .text(.oneOf(["waiting", "delivered", "given up"])), \.state),
        .optional("nextAttemptAt", .text(.any), \.nextAttemptAt),
        .optional("status", .integer(to: 999), \.status, "The HTTP status of the last attempt."),
        .optional("cause", .text(.any), \.cause, "Why the last attempt failed."))
}

extension DeliveryView {
    init(_ delivery: HookDelivery) {
        self.init(
            id: delivery.id, type: delivery.event.kind, createdAt: delivery.created.text, attempts: delivery.attempts,
            state: delivery.next != nil ? "waiting" : delivery.cause == nil ? "delivered" : "given up",
            nextAttemptAt: delivery.next?.text, status: delivery.status, cause: delivery.cause)
    }
}
