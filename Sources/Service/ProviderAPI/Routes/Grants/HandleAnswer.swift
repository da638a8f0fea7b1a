import NIOCore
package import Notifications

/// The answer to a request about handles or grants. A refusal always says why, because the people who read it write apps and
/// instances.
package struct HandleAnswer: Sendable, Hashable {
    package let status: Int
    /// Nil for an answer without a body.
    package let json: String?
    /// The value of `retry-after`, in seconds.
    package let retryAfter: Int?

    /// - Parameter json: nil for an answer without a body.
    init(json: String?) { (status, self.json, retryAfter) = (200, json, nil) }

    package init(_ rejection: Rejection) {
        status = rejection.reason.status
        json = String(buffer: ProviderResponse.body(rejection, hasDetail: true))
        retryAfter = rejection.reason == .tooManyRequests ? 1 : nil
    }

    /// An answer with 409. No reason of the table has this status, so it is that of HTTP (RFC 9110, 15.5.10).
    init(conflict cause: String) {
        status = 409
        json = #"{"reason":"Conflict","detail":\#(JSONString.quoted(cause))}"#
        retryAfter = nil
    }
}
