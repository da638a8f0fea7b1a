package import Connections
import Credentials
package import Delivery
package import HTTP2
import NIOCore
package import Notifications
import Synchronization
package import Trust

/// The provider API of one environment (Guide, 2.3).
package final class ProviderAPI: HTTP2Service {
    package let environment: Environment
    let rules: RequestRules
    /// Makes what the service does not know; nil unless `--accept any` is set.
    let firstSight: (any FirstSight)?
    /// The addresses besides loopback from which ``firstSight`` is used.
    private let acceptAnyFrom: [AddressRange]
    let environmentKeyReason: EnvironmentKeyReason
    /// Whether answers contain the key `detail`: in the development environment, unless a setting switches it off.
    let answersHaveDetail: Bool
    /// Whether answers to grants contain the key `detail`, in production too: it names the limit that refuses a request.
    let tellsGrants: Bool
    let authority: CertificateAuthority
    let tokens: ProviderTokens
    let accounts: any Accounts
    let delivery: Delivery
    let broadcasts: Broadcasts
    let deliveryLog: any DeliveryLog
    let limits: ProviderLimits
    /// The memory of the open requests of connections that have not shown whom they belong to, in KiB.
    let untrustedRequests = Atomic(0)
    let load: StreamLoad
    let limitLog: LimitLog
    let clock: ServiceClock
    /// Forwards the notifications of apps with an upstream; nil if nothing is forwarded.
    let forwarding: GatewayForwarding?
    /// The handles and numbers of grants; nil if no grant may send.
    let grants: GrantGateway?
    /// Carries out requests about handles and grants; nil if no grant may send.
    package let handles: HandleRequests?

    /// - Parameters:
    ///   - environmentKeyReason: which spelling to use for the reason that rejects a key of the other environment.
    ///   - answerDetail: whether answers in the development environment contain the key `detail`.
    ///   - deliveryLog: records the requests that are rejected before `Delivery` sees them.
    ///   - names: device tokens that tests have named; nil outside the development environment.
    ///   - tokensByService: whether an app's own device token does not serve the topics of its services.
    ///   - firstSight: makes what the service does not know; nil outside the development environment.
    ///   - acceptAnyFrom: the addresses besides loopback from which it may be used.
    ///   - otherAddress: returns the address of the other environment's provider API, for the answer to a device token
    ///     of that environment; nil if the service does not serve it.
    ///   - limitLog: counts and logs exceeded limits.
    ///   - forwarding: forwards the notifications of apps with an upstream.
    ///   - grants: the handles and numbers of grants; nil if no grant may send.
    package init(
        environment: Environment,
        conformance: Conformance,
        environmentKeyReason: EnvironmentKeyReason = .documented,
        answerDetail: Bool = true,
        authority: CertificateAuthority,
        tokens: ProviderTokens,
        tokenKeys: SharedTokenKeys,
        accounts: any Accounts,
        delivery: Delivery,
        broadcasts: Broadcasts,
        deliveryLog: any DeliveryLog = NoDeliveryLog(),
        names: NamedTokens? = nil,
        tokensByService: Bool = false,
        firstSight: (any FirstSight)? = nil,
        acceptAnyFrom: [AddressRange] = [],
        otherAddress: @escaping @Sendable () -> String? = { nil },
        limits: ProviderLimits = ProviderLimits(),
        limitLog: LimitLog,
        clock: ServiceClock,
        forwarding: GatewayForwarding? = nil,
        grants: GrantGateway? = nil,
    ) {
        self.environment = environment
        self.environmentKeyReason = environmentKeyReason
        answersHaveDetail = answerDetail && environment == .development
        tellsGrants = answerDetail
        self.grants = grants
        handles = grants.map {
            HandleRequests($0, accounts: accounts, tokenKeys: tokenKeys, limitLog: limitLog, clock: clock)
        }
        rules = RequestRules(
            environment: environment, conformance: conformance, tokenKeys: tokenKeys, clock: clock,
            names: names, tokensByService: tokensByService, otherAddress: otherAddress)
        self.firstSight = firstSight
        self.acceptAnyFrom = acceptAnyFrom
        self.authority = authority
        self.tokens = tokens
        self.accounts = accounts
        self.delivery = delivery
        self.broadcasts = broadcasts
        self.deliveryLog = deliveryLog
        self.limits = limits
        load = StreamLoad(full: limits.concurrentStreams, delivery: delivery)
        self.limitLog = limitLog
        self.clock = clock
        self.forwarding = forwarding
    }

    package static var buffers: ConnectionBuffers { .busyOrIdle }

    package func sessionConfiguration(for peer: ProviderIdentity?) -> HTTP2Configuration {
        var configuration = HTTP2Configuration()
        configuration.idleMemory = .releasedOnRequest
        configuration.limits.maxConcurrentStreams = limits.concurrentStreams
        // Allow one stream until the first valid provider token. A provider with a certificate has already shown who
        // it is (Guide, 2.3.3).
        configuration.limits.announcedConcurrentStreams = peer == nil ? 1 : load.streams
        // Do not reset the stream, so that a client that still sends a body that is too long can read the answer.
        configuration.earlyReset = .onceRead
        return configuration
    }

    /// Admits only providers whose certificate this service has issued and not revoked. The environment is checked
    /// with each request, so that the provider gets the reason.
    package func admit(_ chain: [[UInt8]]) throws -> ProviderIdentity {
        let now = Double(clock.machineTime.milliseconds) / 1000
        let identity: ProviderIdentity
        do throws(TrustError) {
            identity = try authority.verifyProvider(chain: chain, now: now)
        } catch {
            guard firstSight != nil, error.code == .untrusted else { throw error }
            // The connection decides whether it may be used from the client's address.
            return try .foreign(chain: chain, now: now)
        }
        guard accounts.current.trusts(identity.serial) else {
            throw TrustError(.revoked, "The certificate \(identity.serial) was revoked, or was never issued.")
        }
        return identity
    }

    package static func alert(for error: any Error) -> UInt8? { (error as? TrustError)?.tlsAlert }

    /// What makes unknown teams, apps and devices for a client; nil if the client's address does not allow it.
    func firstSight(for accepted: AcceptedConnection) -> (any FirstSight)? {
        guard let firstSight, accepted.isLocal(or: acceptAnyFrom) else { return nil }
        return firstSight
    }

    /// Converts the time of a rejection of `Delivery` to the provider's, which does not know of the advanced clock.
    /// Other rejections have the provider's time already, and converting them again would change it.
    func inClientTime(_ rejection: Rejection) -> Rejection {
        var rejection = rejection
        rejection.timestamp = rejection.timestamp.map { clock.clientTime(of: Timestamp(milliseconds: $0)).milliseconds }
        return rejection
    }

    package func makeConnection(from peer: ProviderIdentity?, on accepted: AcceptedConnection) -> any HTTP2Connection {
        ProviderConnection(api: self, certificate: peer, accepted: accepted)
    }
}
