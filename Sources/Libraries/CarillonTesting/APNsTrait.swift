import Synchronization
public import Testing

/// A trait that runs a ``TestAPNs`` for each test. The test finds it as ``TestAPNs/current``. If the test fails, its output
/// shows what the backend sent.
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
        let failure = Failure()
        let noticing: IssueHandlingTrait = .compactMapIssues { failure.notice($0) }
        try await TestAPNs.run(configuration) { apns in
            do {
                try await noticing.provideScope(for: test, testCase: testCase) {
                    try await TestAPNs.$running.withValue(apns) { try await function() }
                }
            } catch {
                await Self.explain(apns)
                throw error
            }
            if failure.isNoticed { await Self.explain(apns) }
        }
    }

    /// Shows what the backend sent, beside the failure of the test.
    private static func explain(_ apns: TestAPNs) async {
        let text = "What the backend sent to apns:\n  " + (await apns.sent().joined(separator: "\n  "))
        #if compiler(>=6.3)
            Issue.record(Comment(rawValue: text), severity: .warning)
        #else
            print(text)
        #endif
    }

    /// Whether the test has failed.
    private final class Failure: Sendable {
        private let noticed = Atomic(false)

        var isNoticed: Bool { noticed.load(ordering: .relaxed) }

        /// - Returns: the issue as it is.
        func notice(_ issue: Issue) -> Issue {
            #if compiler(>=6.3)
                guard issue.isFailure else { return issue }
            #endif
            noticed.store(true, ordering: .relaxed)
            return issue
        }
    }
}

extension Trait where Self == APNsTrait {
    /// A push notification service for the test.
    public static var apns: Self { APNsTrait(configuration: TestAPNs.Configuration()) }

    /// A push notification service for the test, with this configuration.
    public static func apns(_ configuration: TestAPNs.Configuration) -> Self { APNsTrait(configuration: configuration) }
}
