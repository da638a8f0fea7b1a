/// What the service gives for a notification that it took (Guide, Table 8-3).
public struct PushReceipt: Sendable, Hashable {
    /// The notification's identifier, the one it was sent with or a new one: a canonical UUID.
    public let apnsID: String
    /// An identifier for looking the notification up in the service's delivery log; development environment only.
    public let uniqueID: String?
}
