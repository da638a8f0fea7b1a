/// The service's answer to one request, with the values of the response (Guide, Tables 8-3 to 8-5).
package struct PushAnswer: Sendable, Hashable {
    /// The HTTP status: 200 is success.
    package var status: Int
    /// The notification's identifier, from the `apns-id` header.
    package var apnsID: String?
    /// The identifier for the delivery log; in the development environment only.
    package var uniqueID: String?
    /// The reason of a rejection, from the body.
    package var reason: String?
    /// The time from which the device token was invalid, in milliseconds since 1970; with status 410 only.
    package var timestamp: UInt64?
    /// A description of the mistake in this request, if the service sends one.
    package var detail: String?

    package init(
        status: Int,
        apnsID: String? = nil,
        uniqueID: String? = nil,
        reason: String? = nil,
        timestamp: UInt64? = nil,
        detail: String? = nil,
    ) {
        self.status = status
        self.apnsID = apnsID
        self.uniqueID = uniqueID
        self.reason = reason
        self.timestamp = timestamp
        self.detail = detail
    }
}
