import APNSProvider
import Foundation
import Hummingbird
import Logging
import ServiceLifecycle

/// A small backend. Apps give it their device tokens, and its operator sends to all of them.
@main
struct Backend {
    static func main() async throws {
        let settings = try Settings(ProcessInfo.processInfo.environment)
        let logger = Logger(label: "backend")
        let devices = Devices()
        var configuration = ProviderClient.Configuration()
        // The client removes device tokens that the service calls inactive.
        configuration.deviceTokens = devices
        let client = try ProviderClient(
            credentials: settings.credentials, environment: settings.environment, configuration: configuration,
            logger: logger)
        // These services shut down with the server: notifications under way are answered first.
        var services: [any Service] = [client]
        if let feedback = settings.feedback {
            // The binary API has no 410, so the feedback service is read once a day (Guide, 3.1.3).
            services.append(FeedbackSchedule(feedback, in: devices, topic: settings.topic, logger: logger))
        }
        let application = Application(
            router: router(devices, client, topic: settings.topic),
            configuration: ApplicationConfiguration(address: .hostname("127.0.0.1", port: settings.port)),
            services: services,
            logger: logger)
        try await application.runService()
    }

    static func router(_ devices: Devices, _ client: ProviderClient, topic: String) -> Router<BasicRequestContext> {
        let router = Router()
        router.post("devices") { request, context -> HTTPResponse.Status in
            let registration = try await request.decode(as: Registration.self, context: context)
            guard let token = DeviceToken(registration.token) else {
                throw HTTPError(.badRequest, message: "token takes hexadecimal digits, two a byte")
            }
            await devices.register(token, topic: topic, languages: registration.languages ?? [])
            return .noContent
        }
        router.post("notifications") { request, context -> Summary in
            let message = try await request.decode(as: Message.self, context: context)
            let greeting = Localized(message.texts, fallback: message.fallback)
            let pushes = try await devices.all().map { device in
                Push(
                    try PushNotification(
                        topic: topic, APS(alert: APS.Alert(body: greeting.best(for: device.languages)), sound: .default)
                    ),
                    to: device.token)
            }
            let outcomes = client.send(pushes)
            for await outcome in outcomes {
                if case .failure(let error) = outcome.result {
                    context.logger.info("Not sent", metadata: ["cause": "\(error.cause)"])
                }
            }
            return Summary(sent: outcomes.progress.accepted, failed: outcomes.progress.failed)
        }
        return router
    }
}

/// What an app sends after it got its device token.
struct Registration: Decodable {
    var token: String
    /// The user's preferred languages, the first one first.
    var languages: [String]?
}

/// A message in several languages.
struct Message: Decodable {
    var texts: [String: String]
    /// The text for users of other languages.
    var fallback: String
}

struct Summary: ResponseEncodable, Encodable {
    var sent: Int
    var failed: Int
}
