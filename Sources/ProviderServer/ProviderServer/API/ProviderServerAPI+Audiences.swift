import CampaignStore
import HTTPAPI
import HTTPTypes
import Hummingbird
import Notifications

// Requests about saved audiences, which messages refer to by their names.
extension ProviderServerAPI {
    private static let name = Parameter.path("name", .audienceName, "The name of the audience.")

    static let audienceOperations: [ProviderOperation] = [
        ProviderOperation(
            method: .get, path: "/v1/audiences", summary: "List an app's saved audiences", parameters: Parameter.app,
            answer: .json(.page(of: SavedAudienceView.form.schema)), problems: [404]
        ) { api, call in
            let app = try api.access.sendingApp(call)
            let audiences = try await api.store.audiences(app: app.number)
            return list(
                audiences.map { SavedAudienceView($0, bundleID: app.bundleID) }, SavedAudienceView.form)
        },
        ProviderOperation(
            method: .get, path: "/v1/audiences/{name}", summary: "Show an audience, and how many it has now",
            parameters: [name] + Parameter.app, answer: .json(SavedAudienceView.form.schema), problems: [404]
        ) { api, call in
            let app = try api.access.sendingApp(call)
            let name = try call.parameter("name")
            guard let audience = try await api.store.audience(name, app: app.number) else {
                throw Problem.notFound("There is no saved audience \(name).")
            }
            return try await api.show(audience, app, .ok)
        },
        ProviderOperation(
            method: .put, path: "/v1/audiences/{name}", summary: "Save an audience", parameters: [name] + Parameter.app,
            body: Body(reading: AudienceRequest.savedForm.schema, maximumBytes: ProviderServerLimits.audienceBytes),
            answer: .json(SavedAudienceView.form.schema), problems: [404, 409, 413],
            otherAnswers: [201: SavedAudienceView.form.schema]
        ) { api, call in
            try await api.putAudience(call)
        },
        ProviderOperation(
            method: .delete, path: "/v1/audiences/{name}", summary: "Delete a saved audience",
            parameters: [name] + Parameter.app, answer: .nothing, problems: [404]
        ) { api, call in
            let app = try api.access.sendingApp(call)
            let name = try call.parameter("name")
            guard try await api.store.deleteAudience(name, app: app.number) else {
                throw Problem.notFound("There is no saved audience \(name).")
            }
            return Response(status: .noContent)
        },
    ]

    private func putAudience(_ call: ProviderCall) async throws -> Response {
        let request: AudienceRequest = try call.read(AudienceRequest.savedForm)
        let document = try AudienceReader.read(saved: request.conditions, isStored: false)
        let app = try access.sendingApp(call, bundleID: request.bundleID)
        try app.checkEnvironment(document.audience.environment)
        let audience = SavedAudience(
            name: try call.parameter("name"), app: app.number, document: Array(call.document.text.utf8),
            changed: clock.now())
        let isNew = try await store.put(audience, limit: ProviderServerLimits.savedAudiences)
        return try await show(audience, app, isNew ? .created : .ok)
    }

    /// Answers with an audience, and how many recipients it has now.
    private func show(
        _ saved: SavedAudience,
        _ app: ProviderApp,
        _ status: HTTPResponse.Status,
    ) async throws -> Response {
        var shown = SavedAudienceView(saved, bundleID: app.bundleID)
        let request = try AudienceRequest.Conditions.form.read(shown.audience, nullIsMissing: true)
        let conditions = try AudienceReader.read(saved: request, isStored: true).audience
        var count: Int64 = 0
        for environment in Environment.sendingOrder where app.endpoints[environment] != nil {
            count += try await store.count(
                RecipientQuery(
                    app: app.number, message: 0, audience: conditions, environment: environment,
                    now: clock.now()))
        }
        shown.recipients = count
        return SavedAudienceView.form.response(shown, status)
    }
}
