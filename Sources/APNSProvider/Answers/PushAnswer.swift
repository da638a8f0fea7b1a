/// What the service answered to one request, as it stands in the response (Guide, Tables 8-3 to 8-5).
package struct PushAnswer: Sendable, Hashable {
    /// The HTTP status: 200 is success.
    package var status: Int
    /// The notification's identifier, as the service says it.
    package var apnsID: String?
    /// Development only: for the delivery log.
    package var uniqueID: String?
    /// Why it was refused.
    package var reason: String?
    /// In milliseconds since 1970; with 410 only.
    package var timestamp: UInt64?
    /// What was wrong with this request, where the service says it.
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
