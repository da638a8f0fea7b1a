import Delivery
import HTTPAPI
import HTTPTypes
import Notifications
import Storage

// What Web Push does with messages to the phones of apps (docs/web-push.md).
extension ManagementOperations {
    static let webPush = [
        ManagementOperation(
            method: .put, path: "/v1/apps/{bundleID}/web-push/{environment}",
            summary: "Set what Web Push does with messages to an app's phones", parameters: upstreamPlace,
            body: Body(reading: ManagementMessages.NewAppWebPush.schema),
            answer: .json(ManagementMessages.AppWebPush.schema), problems: [404, 409, 413, 415]
        ) { api, call in
            .json(try await api.setWebPush(try api.upstreamPlace(call), call.message()))
        },
        ManagementOperation(
            method: .get, path: "/v1/apps/{bundleID}/web-push/{environment}",
            summary: "What Web Push does with messages to an app's phones", parameters: upstreamPlace,
            answer: .json(ManagementMessages.AppWebPush.schema), problems: [404]
        ) { api, call in
            .json(api.message(try api.presentWebPush(try api.upstreamPlace(call))))
        },
        ManagementOperation(
            method: .delete, path: "/v1/apps/{bundleID}/web-push/{environment}",
            summary: "Use the usual template for an app again, and take the relay's URL from it",
            parameters: upstreamPlace, answer: .json(ManagementMessages.AppWebPush.schema), problems: [404]
        ) { api, call in
            .json(try await api.removeWebPush(try api.upstreamPlace(call)))
        },
    ]
}

extension ManagementAPI {
    func presentWebPush(_ place: UpstreamPlace) throws(StoreError) -> AppWebPush {
        guard let settings = accounts.current.webPush[place] else { throw .missingWebPush(place) }
        return settings
    }

    func setWebPush(
        _ place: UpstreamPlace, _ request: ManagementMessages.NewAppWebPush
    ) async throws -> ManagementMessages.AppWebPush {
        let relaysTo = request.relayTo ?? false
        let template: WebPushTemplate
        do throws(WebPushTemplate.Fault) {
            template = try request.template.map(WebPushTemplate.init) ?? (relaysTo ? .tootRelay : .usual)
        } catch {
            throw Problem.invalid("/template" + error.pointer, error.detail)
        }
        let settings = AppWebPush(
            place: place, template: template, relaysTo: relaysTo, isPlain: request.plain ?? false)
        _ = try await accounts.apply(.setWebPush(settings))
        return message(settings)
    }

    func removeWebPush(_ place: UpstreamPlace) async throws -> ManagementMessages.AppWebPush {
        let settings = try presentWebPush(place)
        _ = try await accounts.apply(.removeWebPush(place))
        return message(settings)
    }

    func message(_ settings: AppWebPush) -> ManagementMessages.AppWebPush {
        ManagementMessages.AppWebPush(
            bundleID: settings.place.bundleID.rawValue, environment: settings.place.environment.rawValue,
            template: settings.template.document, relayTo: settings.relaysTo, plain: settings.isPlain)
    }
}
