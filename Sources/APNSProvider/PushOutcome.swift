/// The service's answer to one notification (Guide, Tables 8-3 to 8-5).
package struct PushOutcome: Sendable, Hashable {
    /// The HTTP status: 200 is success.
    package var status: Int
    /// The notification's identifier, as the service says it.
    package var apnsID: String?
    /// Why it was refused.
    package var reason: String?
    /// In milliseconds since 1970: when the device token was last known to have become inactive; with 410 only.
    package var timestamp: UInt64?
    /// What was wrong with this request, where the service says it.
    package var detail: String?
}
