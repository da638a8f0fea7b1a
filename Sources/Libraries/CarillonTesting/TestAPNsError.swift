/// The error of a test service, or of a request to it.
public struct TestAPNsError: Error, CustomStringConvertible {
    /// The kind of failure.
    public enum Code: Sendable, Hashable {
        /// The service did not start.
        case notStarted
        /// The service refused the request. ``TestAPNsError/cause`` says why.
        case refused
        /// The expected requests did not arrive in time. ``TestAPNsError/cause`` names the requests that differ
        /// least.
        case timedOut
        /// The test has no service, because the trait is missing.
        case noCurrent
    }

    public let code: Code
    /// A sentence that says what is wrong and what to do.
    public let cause: String

    init(_ code: Code, _ cause: String) {
        (self.code, self.cause) = (code, cause)
    }

    public var description: String { cause }
}
