package import Rates

/// The limits of ``DeliveryLimits`` that refuse or delay something.
extension Limit {
    /// ``DeliveryLimits/requestsPerDeviceToken``: the answer is TooManyRequests.
    package static let tokenRate = Limit("token-rate")
    /// ``DeliveryLimits/pendingStoresPerShard``: the answer is ServiceUnavailable.
    package static let pendingStores = Limit("pending-stores")
    /// ``DeliveryLimits/unacknowledgedPerDevice``: the newest for each app waits in its mailbox.
    package static let unacknowledged = Limit("unacknowledged")
    /// ``DeliveryLimits/deferredPerDevice``: the newest for each app waits in its mailbox.
    package static let deferred = Limit("deferred")
    /// ``DeliveryLimits/silentsPerApp``: the newest waits in its mailbox.
    package static let silentRate = Limit("silent-rate")
    /// The rate or the daily number of a grant, which the provider API and Web Push enforce.
    package static let grantRate = Limit("grant-rate")

    package static let ofDelivery: [Limit] = [.tokenRate, .pendingStores, .unacknowledged, .deferred, .silentRate]
}
