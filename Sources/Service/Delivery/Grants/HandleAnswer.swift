/// The answer to a request about handles or grants, which the ports of the provider API and of Web Push give alike. A refusal always
/// says why, because the people who read it write apps and instances.
package struct HandleAnswer: Sendable, Hashable {
    package let status: Int
    /// Nil for an answer without a body.
    package let json: String?
    /// The value of `retry-after`, in seconds.
    package let retryAfter: Int?

    package init(status: Int = 200, json: String?, retryAfter: Int? = nil) {
        self.status = status
        self.json = json
        self.retryAfter = retryAfter
    }
}
