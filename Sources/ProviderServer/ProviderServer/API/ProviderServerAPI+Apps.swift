import CampaignStore
import HTTPAPI
import HTTPTypes
import Hummingbird
import Notifications
import Storage

// The administrator's requests about apps.
extension ProviderServerAPI {
    private static let bundleID = Parameter.path("bundleID", .bundleID, "The app.")

    static let appOperations: [ProviderOperation] = [
        ProviderOperation(
            method: .get, path: "/v1/apps", summary: "List the apps",
            answer: .json(.page(of: ProviderMessages.App.schema)),
            access: .administrator
        ) { api, _ in
            list(api.apps.all.map(ProviderMessages.App.init(_:)))
        },
        ProviderOperation(
            method: .get, path: "/v1/apps/{bundleID}", summary: "Show an app", parameters: [bundleID],
            answer: .json(ProviderMessages.App.schema), problems: [404], access: .administrator
        ) { api, call in
            .json(ProviderMessages.App(try api.app(call)))
        },
        ProviderOperation(
            method: .put, path: "/v1/apps/{bundleID}", summary: "Make or change an app", parameters: [bundleID],
            body: Body(reading: ProviderMessages.AppRequest.schema, maximumBytes: ProviderServerLimits.bodyBytes),
            answer: .json(ProviderMessages.App.schema), problems: [409, 413],
            otherAnswers: [201: ProviderMessages.App.schema],
            access: .administrator
        ) { api, call in
            try await api.putApp(call)
        },
        ProviderOperation(
            method: .delete, path: "/v1/apps/{bundleID}",
            summary: "Delete an app with its installations and messages", parameters: [bundleID],
            answer: .json(ProviderMessages.App.schema), problems: [404], access: .administrator
        ) { api, call in
            try await api.deleteApp(call)
        },
        ProviderOperation(
            method: .post, path: "/v1/apps/{bundleID}/keys", summary: "Replace one of an app's keys",
            parameters: [bundleID],
            body: Body(
                reading: ProviderMessages.KeyRequest.schema, maximumBytes: ProviderServerLimits.installationBytes),
            answer: .json(ProviderMessages.NewKey.schema), problems: [404, 413], access: .administrator
        ) { api, call in
            try await api.renewKey(call)
        },
    ]

    private func app(_ call: ProviderCall) throws(Problem) -> ProviderApp {
        try apps.existingApp(try call.parameter("bundleID"))
    }

    /// Creates or changes an app. Only the answer that creates an app contains its keys.
    private func putApp(_ call: ProviderCall) async throws -> Response {
        let bundleID = try call.parameter("bundleID")
        let request = try ProviderMessages.AppRequest(checking: call.document)
        try request.checkIdentity(access.identityKeys)
        let client = AccessKey(prefix: AccessKey.clientPrefix)
        let server = AccessKey(prefix: AccessKey.serverPrefix)
        let app = try await apps.change(bundleID) { [vault] known in
            try request.app(
                bundleID: bundleID, known: known, clientKey: known?.clientKeyDigest ?? client.digest,
                serverKey: known?.serverKeyDigest ?? server.digest, vault)
        }
        await feedback.runDue()
        var shown = ProviderMessages.App(app)
        let isNew = app.clientKeyDigest == client.digest
        if isNew {
            shown.clientKey = client.text
            shown.serverKey = server.text
        }
        return .json(shown, isNew ? .created : .ok)
    }

    private func deleteApp(_ call: ProviderCall) async throws -> Response {
        let app = try app(call)
        do throws(StoreError) {
            try await apps.delete(app) { await campaigns.stopAll(of: app.number) }
        } catch {
            await campaigns.runDue()
            throw error
        }
        await feedback.runDue()
        return .json(ProviderMessages.App(app))
    }

    /// Replaces one of an app's keys. The old key is invalid at once.
    private func renewKey(_ call: ProviderCall) async throws -> Response {
        let bundleID = try app(call).bundleID
        let role = try call.read(ProviderMessages.KeyRequest.form).role
        let key = AccessKey(prefix: role == .client ? AccessKey.clientPrefix : AccessKey.serverPrefix)
        _ = try await apps.change(bundleID) { known in
            guard var app = known else { throw AppDirectory.noApp(bundleID) }
            switch role {
            case .client: app.clientKeyDigest = key.digest
            case .server: app.serverKeyDigest = key.digest
            }
            return app
        }
        return .json(ProviderMessages.NewKey(key: key.text))
    }
}
