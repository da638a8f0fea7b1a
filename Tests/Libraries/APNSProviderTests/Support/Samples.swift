import Testing

@testable import APNSProvider

enum Sample {
    static let topic = "com.example.app"

    static func deviceToken(_ number: Int = 0) throws -> DeviceToken {
        try #require(DeviceToken(bytes: (0..<32).map { UInt8(truncatingIfNeeded: $0 == 31 ? number : $0) }))
    }

    static func notification(_ alert: String = "Hello") throws -> PushNotification {
        try PushNotification(topic: topic, APS(alert: APS.Alert(body: alert)))
    }

    static func pushes(_ count: Int) throws -> [Push] {
        let notification = try notification()
        return try (0..<count).map { Push(notification, to: try deviceToken($0)) }
    }
}

/// The error that `body` throws.
func failure<Value>(_ body: () async throws(ProviderError) -> Value) async -> ProviderError? {
    do throws(ProviderError) {
        _ = try await body()
        return nil
    } catch {
        return error
    }
}

extension ProviderClient {
    /// Sends this many notifications at once, and returns the errors.
    func errors(sending count: Int) async throws -> [ProviderError] {
        var errors: [ProviderError] = []
        for await outcome in send(try Sample.pushes(count)) {
            if case .failure(let error) = outcome.result { errors.append(error) }
        }
        return errors
    }

    /// Sends this many notifications at once. All of them have to be accepted.
    func accepts(_ count: Int, sourceLocation: SourceLocation = #_sourceLocation) async throws {
        let errors = try await errors(sending: count)
        #expect(errors.isEmpty, sourceLocation: sourceLocation)
    }
}
