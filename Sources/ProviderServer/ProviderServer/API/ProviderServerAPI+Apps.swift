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
            method: .get, path: "/v1/apps", summary: "List the apps", answer: .json(.page(of: AppView.form.schema)),
            access: .administrator
        ) { api, _ in
            list(api.apps.all.map { AppView($0) }, AppView.form)
        },
        ProviderOperation(
            method: .get, path: "/v1/apps/{bundleID}", summary: "Show an app", parameters: [bundleID],
            answer: .json(AppView.form.schema), problems: [404], access: .administrator
        ) { api, call in
            AppView.form.response(AppView(try api.app(call)))
        },
        ProviderOperation(
            method: .put, path: "/v1/apps/{bundleID}", summary: "Make or change an app", parameters: [bundleID],
            body: Body(reading: AppDocument.form.schema, maximumBytes: ProviderServerLimits.bodyBytes),
            answer: .json(AppView.form.schema), problems: [409, 413], otherAnswers: [201: AppView.form.schema],
            access: .administrator
        ) { api, call in
            try await api.putApp(call)
        },
        ProviderOperation(
            method: .delete, path: "/v1/apps/{bundleID}",
            summary: "Delete an app with its installations and messages", parameters: [bundleID],
            answer: .json(AppView.form.schema), problems: [404], access: .administrator
        ) { api, call in
            try await api.deleteApp(call)
        },
        ProviderOperation(
            method: .post, path: "/v1/apps/{bundleID}/keys", summary: "Replace one of an app's keys",
            parameters: [bundleID],
            body: Body(reading: KeyRequest.form.schema, maximumBytes: ProviderServerLimits.installationBytes),
            answer: .json(NewKey.form.schema), problems: [404, 413], access: .administrator
        ) { api, call in
            try await api.renewKey(call)
        },
    ]

    private func app(_ call: ProviderCall) throws(Problem) -> ProviderApp {
        let bundleID = try call.parameter("bundleID")
        guard let app = apps.app(bundleID) else { throw .notFound("There is no app \(bundleID).") }
        return app
    }

    /// Creates or changes an app. Only the answer that creates an app contains its keys.
    private func putApp(_ call: ProviderCall) async throws -> Response {
        let bundleID = try call.parameter("bundleID")
        let document = try AppDocument(call.document)
        try document.checkIdentity(access.identityKeys)
        let client = AccessKey(prefix: AccessKey.clientPrefix)
        let server = AccessKey(prefix: AccessKey.serverPrefix)
        let app = try await apps.change(bundleID) { [vault] known in
            try document.app(
                bundleID: bundleID, known: known, clientKey: known?.clientKeyDigest ?? client.digest,
                serverKey: known?.serverKeyDigest ?? server.digest, vault)
        }
        await feedback.runDue()
        var shown = AppView(app)
        let isNew = app.clientKeyDigest == client.digest
        if isNew {
            shown.clientKey = client.text
            shown.serverKey = server.text
        }
        return AppView.form.response(shown, isNew ? .created : .ok)
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
        return AppView.form.response(AppView(app))
    }

    /// Replaces one of an app's keys. The old key is invalid at once.
    private func renewKey(_ call: ProviderCall) async throws -> Response {
        let bundleID = try app(call).bundleID
        let role = try call.read(KeyRequest.form).role
        let key = AccessKey(prefix: role == .client ? AccessKey.clientPrefix : AccessKey.serverPrefix)
        _ = try await apps.change(bundleID) { known in
            guard var app = known else { throw Problem.notFound("There is no app \(bundleID).") }
            switch role {
            case .client: app.clientKeyDigest = key.digest
            case .server: app.serverKeyDigest = key.digest
            }
            return app
        }
        return NewKey.form.response(NewKey(key: key.text))
    }
}

/// Which key of an app to replace.
private struct KeyRequest: Sendable {
    let role: AppDirectory.Role

    static let form: JSONForm<KeyRequest> = JSONForm.object(
        "KeyRequest", { KeyRequest(role: $0) },
        .required("key", key, \.role, "Which one."))

    private static let key: JSONForm<AppDirectory.Role> = JSONForm<String>.text(.oneOf(["client", "server"])).map(
        to: { (role: AppDirectory.Role) in role == .client ? "client" : "server" },
        from: { (text: String) -> AppDirectory.Role? in text == "client" ? .client : .server },
        allowed: "client or server")
}

/// A new key. It is shown once.
private struct NewKey: Sendable {
    let key: String

    static let form: JSONForm<NewKey> = JSONForm.object(
        "NewKey", { NewKey(key: $0) }, .required("key", .text(.any), \.key))
}
