import CampaignStore
import HTTPAPI
import HTTPTypes
import Hummingbird
import Notifications
import Storage

// The administrator's requests about apps.
extension ProviderAPI {
    func addApps(to router: Router<BasicRequestContext>) {
        router.get("/v1/apps") { request, _ in
            try access.administrator(request)
            return Self.list(apps.all.map { .object(AppDocument.show($0)) }, next: nil)
        }
        router.get("/v1/apps/:bundleID") { request, context in
            try access.administrator(request)
            return JSONValue.object(AppDocument.show(try app(context))).response()
        }
        router.put("/v1/apps/:bundleID") { request, context in
            try access.administrator(request)
            return try await putApp(try Self.parameter("bundleID", context), request)
        }
        router.delete("/v1/apps/:bundleID") { request, context in
            try access.administrator(request)
            let app = try app(context)
            do throws(StoreError) {
                try await apps.delete(app) { await campaigns.stopAll(of: app.number) }
            } catch {
                await campaigns.runDue()
                throw error
            }
            await feedback.runDue()
            return JSONValue.object(AppDocument.show(app)).response()
        }
        router.post("/v1/apps/:bundleID/keys") { request, context in
            try access.administrator(request)
            return try await renewKey(try app(context).bundleID, request)
        }
    }

    private func app(_ context: BasicRequestContext) throws(Problem) -> ProviderApp {
        let bundleID = try Self.parameter("bundleID", context)
        guard let app = apps.app(bundleID) else { throw .notFound("There is no app \(bundleID).") }
        return app
    }

    /// Creates or changes an app. Only the answer that creates an app contains its keys.
    private func putApp(_ bundleID: String, _ request: Request) async throws -> Response {
        guard BundleID(rawValue: bundleID) != nil else {
            throw Problem(400, "\(bundleID.debugDescription) is not a bundle ID.")
        }
        let document = try AppDocument(try await Self.document(request, upTo: ProviderServerLimits.bodyBytes))
        try document.checkIdentity(access.identityKeys)
        let client = AccessKey(prefix: AccessKey.clientPrefix)
        let server = AccessKey(prefix: AccessKey.serverPrefix)
        let app = try await apps.change(bundleID) { [vault] known in
            try document.app(
                bundleID: bundleID, known: known, clientKey: known?.clientKeyDigest ?? client.digest,
                serverKey: known?.serverKeyDigest ?? server.digest, vault)
        }
        await feedback.runDue()
        var shown = AppDocument.show(app)
        let isNew = app.clientKeyDigest == client.digest
        if isNew {
            shown["clientKey"] = .string(client.text)
            shown["serverKey"] = .string(server.text)
        }
        return JSONValue.object(shown).response(isNew ? .created : .ok)
    }

    /// Replaces one of an app's keys. The old key is invalid at once.
    private func renewKey(_ bundleID: String, _ request: Request) async throws -> Response {
        let value = try await Self.document(request, upTo: ProviderServerLimits.installationBytes)
        let reader = try DocumentReader(value, at: "", keys: ["key"])
        let role: AppDirectory.Role
        switch try reader.text("key", maximum: 20) {
        case "client": role = .client
        case "server": role = .server
        default: throw reader.fault("key", "client or server")
        }
        let key = AccessKey(prefix: role == .client ? AccessKey.clientPrefix : AccessKey.serverPrefix)
        _ = try await apps.change(bundleID) { known in
            guard var app = known else { throw Problem.notFound("There is no app \(bundleID).") }
            switch role {
            case .client: app.clientKeyDigest = key.digest
            case .server: app.serverKeyDigest = key.digest
            }
            return app
        }
        return (["key": .string(key.text)] as JSONValue).response()
    }
}
