import Connections
import Foundation
import HTTPAPI
import HTTPTypes
import Hummingbird
import Notifications
import CampaignStore

// Requests about hooks: the organisation's addresses that receive events.
extension ProviderAPI {
    func addHooks(to router: Router<BasicRequestContext>) {
        router.post("/v1/hooks") { request, _ in try await postHook(request) }
        router.get("/v1/hooks") { request, _ in
            let app = try access.sendingApp(request, bundleID: Self.query("bundleID", request))
            return Self.list(try await store.hooks(app: app.number).map { Self.show($0, app) }, next: nil)
        }
        router.delete("/v1/hooks/:id") { request, context in
            let app = try access.sendingApp(request, bundleID: Self.query("bundleID", request))
            let id = try Self.parameter("id", context)
            guard try await store.deleteHook(id, app: app.number) else {
                throw Problem.notFound("There is no hook \(id).")
            }
            return Response(status: .noContent)
        }
        router.get("/v1/hooks/:id/deliveries") { request, context in try await listDeliveries(request, context) }
    }

    private func postHook(_ request: Request) async throws -> Response {
        try access.backend(request)
        let value = try await Self.document(request, upTo: ProviderServerLimits.installationBytes)
        let reader = try DocumentReader(value, at: "", keys: ["bundleID", "url"])
        let app = try access.sendingApp(request, bundleID: try reader.line("bundleID", maximum: 200))
        let url = try reader.required("url", try reader.line("url", maximum: ProviderServerLimits.hookURLBytes))
        guard Self.isHookURL(url) else { throw reader.fault("url", "https://…, or http:// on this machine") }
        let (id, secret) = (UUID().uuidString.lowercased(), HookSecret())
        let sealed = try vault.seal(.hookSecret(secret.text), name: CredentialVault.hookName(id))
        let hook = Hook(id: id, app: app.number, url: url, sealedSecret: sealed)
        try await store.add(hook, limit: ProviderServerLimits.hooks)
        guard case .object(var shown) = Self.show(hook, app) else { return JSONValue.null.response() }
        shown["secret"] = .string(secret.text)
        return JSONValue.object(shown).response(.created)
    }

    /// Whether a hook may have this URL. It needs TLS, because events name users' devices.
    private static func isHookURL(_ text: String) -> Bool {
        guard let parts = URLComponents(string: text), let host = parts.host, !host.isEmpty, parts.user == nil else {
            return false
        }
        // Such a port fits into no packet.
        guard parts.port.map({ (1...65_535).contains($0) }) ?? true else { return false }
        return parts.scheme == "https" || (parts.scheme == "http" && host.isLoopbackHost)
    }

    private static func show(_ hook: Hook, _ app: ProviderApp) -> JSONValue {
        ["id": .string(hook.id), "bundleID": .string(app.bundleID), "url": .string(hook.url)]
    }

    private func listDeliveries(_ request: Request, _ context: BasicRequestContext) async throws -> Response {
        let app = try access.sendingApp(request, bundleID: Self.query("bundleID", request))
        let id = try Self.parameter("id", context)
        let (limit, before) = try Self.page(request)
        guard try await store.hooks(app: app.number).contains(where: { $0.id == id }) else {
            throw Problem.notFound("There is no hook \(id).")
        }
        let page = try await store.deliveries(hook: id, app: app.number, before: before, limit: limit)
        let items = page.map { delivery -> JSONValue in
            var members: [String: JSONValue] = [
                "id": .string(delivery.id), "type": .string(delivery.event.kind),
                "createdAt": .string(delivery.created.text), "attempts": .integer(delivery.attempts),
                "state": delivery.next != nil ? "waiting" : delivery.cause == nil ? "delivered" : "given up",
            ]
            members["nextAttemptAt"] = delivery.next.map { .string($0.text) }
            members["status"] = delivery.status.map(JSONValue.integer)
            members["cause"] = delivery.cause.map(JSONValue.string)
            return .object(members)
        }
        return Self.list(items, next: page.count == limit ? page.last?.number : nil)
    }
}
