public import Testing

/// A trait that runs a ``TestAPNs`` for each test. The test finds it as ``TestAPNs/current``.
public struct APNsTrait: TestTrait, SuiteTrait, TestScoping {
    let configuration: TestAPNs.Configuration

    /// Always true, so that each test of a suite gets its own service.
    public var isRecursive: Bool { true }

    @concurrent public func provideScope(
        for test: Test,
        testCase: Test.Case?,
        performing function: @Sendable @concurrent () async throws -> Void,
    ) async throws {
        guard testCase != nil else { return try await function() }
        try await TestAPNs.run(configuration) { apns in
            try await TestAPNs.$running.withValue(apns) { try await function() }
        }
    }
}

extension Trait where Self == APNsTrait {
    /// A push notification service for the test.
    public static var apns: Self { APNsTrait(configuration: TestAPNs.Configuration()) }

    /// A push notification service for the test, with this configuration.
    public static func apns(_ configuration: TestAPNs.Configuration) -> Self { APNsTrait(configuration: configuration) }
}
