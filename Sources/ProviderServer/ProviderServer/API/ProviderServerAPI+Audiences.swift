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
            answer: .json(.page(of: ProviderMessages.SavedAudience.schema)), problems: [404]
        ) { api, call in
            let app = try api.access.sendingApp(call)
            let audiences = try await api.store.audiences(app: app.number)
            return list(audiences.map { ProviderMessages.SavedAudience($0, bundleID: app.bundleID) })
        },
        ProviderOperation(
            method: .get, path: "/v1/audiences/{name}", summary: "Show an audience, and how many it has now",
            parameters: [name] + Parameter.app, answer: .json(ProviderMessages.SavedAudience.schema), problems: [404]
        ) { api, call in
            let app = try api.access.sendingApp(call)
            let name = try call.parameter("name")
            guard let audience = try await api.store.audience(name, app: app.number) else {
                throw noAudience(name)
            }
            return try await api.show(audience, app, .ok)
        },
        ProviderOperation(
            method: .put, path: "/v1/audiences/{name}", summary: "Save an audience", parameters: [name] + Parameter.app,
            body: Body(
                reading: ProviderMessages.AudienceRequest.savedForm.schema,
                maximumBytes: ProviderServerLimits.audienceBytes),
            answer: .json(ProviderMessages.SavedAudience.schema), problems: [404, 409, 413],
            otherAnswers: [201: ProviderMessages.SavedAudience.schema]
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
                throw noAudience(name)
            }
            return Response(status: .noContent)
        },
    ]

    private static func noAudience(_ name: String) -> Problem { .notFound("There is no saved audience \(name).") }

    private func putAudience(_ call: ProviderCall) async throws -> Response {
        let request = try call.read(ProviderMessages.AudienceRequest.savedForm)
        let definition = try AudienceDefinition(saved: request.conditions, isStored: false)
        let app = try access.sendingApp(call, bundleID: request.bundleID)
        try app.checkEnvironment(definition.audience.environment)
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
        var shown = ProviderMessages.SavedAudience(saved, bundleID: app.bundleID)
        let conditions = try ProviderMessages.AudienceConditions.form.read(shown.audience, nullIsMissing: true)
        let audience = try AudienceDefinition(saved: conditions, isStored: true).audience
        shown.recipients = 0
        for query in app.recipientQueries(audience, now: clock.now()) {
            shown.recipients? += try await store.count(query)
        }
        return .json(shown, status)
    }
}
