import Foundation
import HTTP2
import Testing

/// Runs each test with sessions of libnghttp2, and then with sessions of `HTTP2Core`.
///
/// `CARILLON_HTTP2=core` runs all tests of this target with `HTTP2Core` alone, and `library` with libnghttp2 alone, to
/// see which of them a failure belongs to.
struct BothProtocols: SuiteTrait, TestTrait, TestScoping {
    private static let chosen = ProcessInfo.processInfo.environment["CARILLON_HTTP2"]

    /// What implements the sessions of the test that is running.
    @TaskLocal static var current = HTTP2Configuration().implementation

    var isRecursive: Bool { true }

    func provideScope(
        for test: Test,
        testCase: Test.Case?,
        performing function: @concurrent @Sendable () async throws -> Void,
    ) async throws {
        guard Self.chosen == nil else { return try await function() }
        for implementation in HTTP2Configuration.Implementation.allCases {
            try await Self.$current.withValue(implementation) { try await function() }
        }
    }
}

extension Trait where Self == BothProtocols {
    static var bothProtocols: BothProtocols { BothProtocols() }
}

/// Skips the sessions of `HTTP2Core`: the test shows what libnghttp2 does, and `HTTP2Core` does something else on purpose.
struct LibraryOnly: TestTrait, TestScoping {
    func provideScope(
        for test: Test,
        testCase: Test.Case?,
        performing function: @concurrent @Sendable () async throws -> Void,
    ) async throws {
        if BothProtocols.current == .library { try await function() }
    }
}

extension Trait where Self == LibraryOnly {
    static var libraryOnly: LibraryOnly { LibraryOnly() }
}
