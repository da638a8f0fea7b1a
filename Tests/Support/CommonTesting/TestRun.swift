import Foundation
package import Testing

/// How the tests were started.
package enum TestRun {
    /// `script/test --fast` leaves out every test that starts another program.
    package static let isFast = ProcessInfo.processInfo.environment["CARILLON_FAST_TESTS"] == "1"
}

extension Trait where Self == ConditionTrait {
    /// For tests that start another program, such as PostgreSQL, openssl or curl.
    package static var startsPrograms: Self { .disabled(if: TestRun.isFast, "script/test --fast starts no programs") }
}
