/// What a test service, or a question to it, failed with.
public struct TestAPNsError: Error, CustomStringConvertible {
    /// What kind of failure it is.
    public enum Code: Sendable, Hashable {
        /// The service did not start.
        case notStarted
        /// The service refused the request, and says why.
        case refused
        /// What was waited for did not come in time; ``TestAPNsError/cause`` names the nearest misses.
        case timedOut
        /// No service runs for this test.
        case noCurrent
    }

    public let code: Code
    /// A sentence that says what to do.
    public let cause: String

    init(_ code: Code, _ cause: String) {
        (self.code, self.cause) = (code, cause)
    }

    public var description: String { cause }
}
