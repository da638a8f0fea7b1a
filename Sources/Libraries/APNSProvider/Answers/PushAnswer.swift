/// The service's answer to one request, with the values of the response (Guide, Tables 8-3 to 8-5).
package struct PushAnswer: Sendable, Hashable {
    /// The HTTP status: 200 is success. The management of channels also has 201 and 204.
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
    /// The identifier of the channel that was created.
    package var channelID: String?
    /// The value of `retry-after`, in seconds.
    package var retryAfter: Int?
    /// The answer's body, in JSON.
    package var body: [UInt8]

    /// Whether the service did what was asked.
    package var isSuccess: Bool { Self.isSuccess(status) }
    static func isSuccess(_ status: Int) -> Bool { (200..<300).contains(status) }

    package init(
        status: Int,
        apnsID: String? = nil,
        uniqueID: String? = nil,
        reason: String? = nil,
        timestamp: UInt64? = nil,
        detail: String? = nil,
        channelID: String? = nil,
        body: [UInt8] = [],
    ) {
        self.status = status
        self.apnsID = apnsID
        self.uniqueID = uniqueID
        self.reason = reason
        self.timestamp = timestamp
        self.detail = detail
        self.channelID = channelID
        self.body = body
    }
}
