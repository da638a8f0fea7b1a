import HTTPAPI
import HTTPTypes
import Hummingbird
import Notifications
import CampaignStore

// Requests about saved audiences, which messages refer to by their names.
extension ProviderAPI {
    func addAudiences(to router: Router<BasicRequestContext>) {
        router.get("/v1/audiences") { request, _ in
            let app = try access.sendingApp(request, bundleID: Self.query("bundleID", request))
            let audiences = try await store.audiences(app: app.number)
            return Self.list(
                audiences.map { .object(SavedAudienceView.show($0, bundleID: app.bundleID)) }, next: nil)
        }
        router.get("/v1/audiences/:name") { request, context in
            let app = try access.sendingApp(request, bundleID: Self.query("bundleID", request))
            let name = try Self.parameter("name", context)
            guard let audience = try await store.audience(name, app: app.number) else {
                throw Problem.notFound("There is no saved audience \(name).")
            }
            return try await show(audience, app, .ok)
        }
        router.put("/v1/audiences/:name") { request, context in try await putAudience(request, context) }
        router.delete("/v1/audiences/:name") { request, context in
            let app = try access.sendingApp(request, bundleID: Self.query("bundleID", request))
            let name = try Self.parameter("name", context)
            guard try await store.deleteAudience(name, app: app.number) else {
                throw Problem.notFound("There is no saved audience \(name).")
            }
            return Response(status: .noContent)
        }
    }

    private func putAudience(_ request: Request, _ context: BasicRequestContext) async throws -> Response {
        try access.backend(request)
        let name = try Self.parameter("name", context)
        guard AudienceReader.isName(name) else {
            throw Problem(
                400, "A name has 1 to \(ProviderServerLimits.audienceNameBytes) letters, digits and - _ .")
        }
        let value = try await Self.document(request, upTo: ProviderServerLimits.audienceBytes)
        let document = try AudienceReader.read(value, .saved(extra: SavedAudienceView.extraKeys))
        let bundleID = try DocumentReader(value, at: "", keys: nil).line("bundleID", maximum: 200)
        let app = try access.sendingApp(request, bundleID: bundleID ?? Self.query("bundleID", request))
        if let environment = document.audience.environment, app.endpoints[environment] == nil {
            throw Problem.invalid("/environment", "The app has no \(environment.rawValue) environment.")
        }
        let audience = SavedAudience(
            name: name, app: app.number, document: Array(value.text.utf8), changed: clock.now())
        let isNew = try await store.put(audience, limit: ProviderServerLimits.savedAudiences)
        return try await show(audience, app, isNew ? .created : .ok)
    }

    /// Answers with an audience, and how many recipients it has now.
    private func show(
        _ saved: SavedAudience,
        _ app: ProviderApp,
        _ status: HTTPResponse.Status,
    ) async throws -> Response {
        var members = SavedAudienceView.show(saved, bundleID: app.bundleID)
        let conditions = try AudienceReader.read(members["audience"] ?? [:], .saved(extra: [])).audience
        var count: Int64 = 0
        for environment in Environment.sendingOrder where app.endpoints[environment] != nil {
            count += try await store.count(
                RecipientQuery(app: app.number, message: 0, audience: conditions, environment: environment))
        }
        members["recipients"] = .integer(count)
        return JSONValue.object(members).response(status)
    }
}
