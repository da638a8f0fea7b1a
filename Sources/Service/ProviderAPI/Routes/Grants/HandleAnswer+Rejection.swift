import Delivery
import NIOCore
import Notifications

extension HandleAnswer {
    init(_ rejection: Rejection) {
        self.init(
            status: rejection.reason.status, json: String(buffer: ProviderResponse.body(rejection, hasDetail: true)),
            retryAfter: rejection.reason == .tooManyRequests ? 1 : nil)
    }

    /// An answer with 409. No reason of the table has this status, so it is that of HTTP (RFC 9110, 15.5.10).
    init(conflict cause: String) {
        self.init(status: 409, json: #"{"reason":"Conflict","detail":\#(JSONString.quoted(cause))}"#)
    }
}
