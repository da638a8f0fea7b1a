/// A refusal: the reason, and details of this case.
package struct Rejection: Error, Sendable, Hashable {
    package var reason: Reason
    /// If the status is 410: when the registration was last known to have ended, in milliseconds since 1970 (Guide,
    /// Table 8-5).
    package var timestamp: UInt64?
    /// A sentence that says what is wrong with this request. It never contains a secret. Only the development
    /// environment shows it.
    package var detail: String?

    package init(_ reason: Reason, timestamp: UInt64? = nil, detail: String? = nil) {
        self.reason = reason
        self.timestamp = timestamp
        self.detail = detail
    }
}
