package import Delivery
import Notifications
import Rates
import Synchronization
package import Trust

/// What the provider API needs of grants: their handles and numbers, and how fast handles may be made. Both environments use
/// the same one.
package final class GrantGateway: Sendable {
    let store: any GrantStore
    let meter: GrantMeter
    let handleKey: HandleKey
    let upkeep: GrantUpkeep
    /// Makes endpoints of Web Push for phones; nil if the service has no Web Push.
    let endpoints: PhoneEndpoints?
    private let perAddress: Mutex<RateTable<String>>
    private let perGrant: Mutex<RateTable<GrantID>>

    package init(
        store: any GrantStore,
        meter: GrantMeter,
        handleKey: HandleKey,
        upkeep: GrantUpkeep,
        limits: ProviderLimits,
        endpoints: PhoneEndpoints? = nil,
    ) {
        self.store = store
        self.meter = meter
        self.handleKey = handleKey
        self.upkeep = upkeep
        self.endpoints = endpoints
        perAddress = Mutex(RateTable(limits.gatewayRequestsPerAddress))
        perGrant = Mutex(RateTable(limits.handlesPerGrant))
    }

    /// Whether an address may send a request about handles or grants now.
    func admits(_ address: String, at now: UInt64) -> Bool { perAddress.withLock { $0.admits(address, at: now) } }

    /// Whether a grant's client key may be used now.
    func admits(_ grant: GrantID, at now: UInt64) -> Bool { perGrant.withLock { $0.admits(grant, at: now) } }
}
