import APNSProvider
import Logging
import ServiceLifecycle
import UnixSignals

// The code of APNSProvider.docc/GettingStarted.md. It is compiled here, and `GettingStartedTests` compares it with
// the article.
enum GettingStarted {
    static func sendOne(
        keyFile: String,
        keyID: String,
        teamID: String,
        environment: APNSEnvironment,
        deviceToken: DeviceToken,
    ) async throws {
        let credentials = try ProviderCredentials(keyFile: keyFile, keyID: keyID, teamID: teamID)
        try await ProviderClient.withClient(credentials: credentials, environment: environment) { client in
            let notification = try PushNotification(
                topic: "com.example.app",
                APS(alert: APS.Alert(title: "Game Request", body: "Bob wants to play poker"), badge: 5, sound: .default)
            )
            let receipt = try await client.send(notification, to: deviceToken)
            print("accepted as", receipt.apnsID)
        }
    }

    static func ownServer() throws -> APNSEnvironment {
        let environment = try APNSEnvironment.custom(
            url: "https://127.0.0.1:2197", authority: .file("carillon-data/ca.pem"))
        return environment
    }

    static func certificate(_ certificateFile: String) throws -> ProviderCredentials {
        let credentials = try ProviderCredentials(certificateFile: certificateFile)
        return credentials
    }

    static func outcome(of notification: PushNotification, to deviceToken: DeviceToken, _ client: ProviderClient) async
    {
        do {
            try await client.send(notification, to: deviceToken, deadline: .seconds(10))
        } catch {
            switch error.rejection?.advice {
            case .forgetDeviceToken:
                print("stop sending to", deviceToken)
            case .fixCredentials:
                print("look at the key:", error.cause)
            case .fixRequest:
                print("look at the notification:", error.cause)
            default:
                print("not sent within ten seconds:", error.cause)
            }
        }
    }

    static func sendMany<Pushes: AsyncSequence & Sendable>(
        _ pushes: Pushes,
        _ client: ProviderClient,
    ) async throws where Pushes.Element == Push {
        let outcomes = client.send(pushes)
        for try await outcome in outcomes {
            if case .failure(let error) = outcome.result {
                print(outcome.item.deviceToken, error)
            }
            if outcomes.progress.ended.isMultiple(of: 1_000) {
                print(outcomes.progress.ended, "of", outcomes.progress.taken)
            }
        }
    }

    static func service(
        _ credentials: ProviderCredentials,
        _ environment: APNSEnvironment,
        _ logger: Logger,
    ) async throws {
        let client = try ProviderClient(credentials: credentials, environment: environment, logger: logger)
        let group = ServiceGroup(services: [client], gracefulShutdownSignals: [.sigterm], logger: logger)
        try await group.run()
    }

    static func schedule(
        _ client: ProviderClient,
        _ deviceTokens: InMemoryDeviceTokens,
        feedback: APNSEnvironment,
        certificate: ProviderCredentials,
        _ logger: Logger,
    ) async throws {
        let schedule = FeedbackSchedule(
            FeedbackReader(environment: feedback, credentials: certificate), in: deviceTokens, topic: "com.example.app",
            logger: logger)
        let services = ServiceGroup(services: [client, schedule], gracefulShutdownSignals: [.sigterm], logger: logger)
        try await services.run()
    }

    static func once(_ reader: FeedbackReader, _ deviceTokens: InMemoryDeviceTokens) async throws {
        let forgotten = try await reader.forgetInactive(in: deviceTokens, topic: "com.example.app")
        print(forgotten.count, "device tokens are no longer active")
    }

    static func sharing() -> ProviderClient.Configuration {
        var configuration = ProviderClient.Configuration()
        configuration.tokenStore = FileProviderTokenStore(folder: "/var/lib/backend/provider-tokens")
        return configuration
    }
}

struct Invitation: Encodable {
    var game: String
    var from: String
}

func invitation(from name: String) throws -> PushNotification {
    let payload = try PushPayload(
        APS(alert: APS.Alert(locKey: "GAME_PLAY_REQUEST_FORMAT", locArgs: [name]), category: "INVITATION"),
        custom: Invitation(game: "poker", from: name))
    print("\(payload.count) of 4,096 bytes")
    return try PushNotification(topic: "com.example.app", payload: payload)
}

func goal(_ home: Int, _ away: Int) throws -> PushNotification {
    let score: [String: JSONValue] = ["home": .integer(home), "away": .integer(away), "players": ["Jenna", "Frank"]]
    return try PushNotification(
        topic: "com.example.app", APS(alert: "Goal!", other: ["future-key": ["a": 1]]), custom: score)
}

let greeting = Localized(["en": "Hello", "fr": "Bonjour", "zh-Hant": "你好"], fallback: "Hello")
func hello(to languages: [String]) throws -> PushNotification {
    try PushNotification(topic: "com.example.app", APS(alert: APS.Alert(body: greeting.best(for: languages))))
}
