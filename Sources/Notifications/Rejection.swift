/// A refusal: the reason, and what goes with it in this one case.
package struct Rejection: Error, Sendable, Hashable {
    package var reason: Reason
    /// For 410: when the registration was last known to have ended, in milliseconds since 1970 (Guide, Table 8-5).
    package var timestamp: UInt64?
    /// A sentence that names what was wrong with this request; never a secret. Shown in development only.
    package var detail: String?

    package init(_ reason: Reason, timestamp: UInt64? = nil, detail: String? = nil) {
        self.reason = reason
        self.timestamp = timestamp
        self.detail = detail
    }
}
