/// The service's receipt for a notification that it accepted (Guide, Table 8-3).
public struct PushReceipt: Sendable, Hashable {
    /// The notification's identifier, a canonical UUID: the one it was sent with, or one that the service made.
    public let apnsID: String
    /// The identifier for finding the notification in the service's delivery log; in the development environment
    /// only.
    public let uniqueID: String?
}
