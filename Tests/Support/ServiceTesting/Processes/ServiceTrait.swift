import CommonTesting
import Testing

/// Runs one service for all tests of a suite: `@Suite(.service())`.
struct ServiceTrait: SuiteTrait, TestTrait, TestScoping {
    var arguments: [String]
    var environment: [String: String]

    @TaskLocal static var running: CarillonProcess?

    func provideScope(
        for test: Test,
        testCase: Test.Case?,
        performing function: @concurrent @Sendable () async throws -> Void,
    ) async throws {
        try await CarillonProcess.with(arguments, environment: environment) { service in
            try await Self.$running.withValue(service) { try await function() }
        }
    }
}

extension Trait where Self == ServiceTrait {
    /// - Parameters:
    ///   - arguments: more options of `carillon serve`.
    ///   - environment: more environment variables.
    static func service(_ arguments: [String] = [], environment: [String: String] = [:]) -> Self {
        ServiceTrait(arguments: arguments, environment: environment)
    }
}

extension CarillonProcess {
    /// The service of the trait of the suite or the test.
    static var current: CarillonProcess {
        get throws { try ServiceTrait.running.orThrow("the suite has no service") }
    }
}
