/// The bounds of ``DeliveryLimits`` that turn something away; whoever counts them is told.
package enum DeliveryLimit: Sendable, Hashable {
    /// ``DeliveryLimits/pendingStoresPerShard``: the answer is ServiceUnavailable.
    case pendingStores
    /// ``DeliveryLimits/unacknowledgedPerDevice``: the newest for each app waits in its mailbox.
    case unacknowledged
}
