import Delivery
import Notifications
package import ProviderAPI
import Trust
import WebPush

/// What Web Push needs for phones behind upstreams.
struct PhoneParts: Sendable {
    let forwarding: PhoneForwarding
    let subscriptions: HandleSubscriptions
    let handles: HandleRequests?
    private let endpoints: PhoneEndpoints?

    init(_ base: ServiceBase, _ grants: GrantParts, _ providers: ProviderParts) {
        forwarding = PhoneForwarding(base, providers.forwarder)
        subscriptions = HandleSubscriptions(
            endpoints: base.store.handleEndpoints, grants: base.store.grantStore, bodies: base.store.webPushBodies,
            handleKey: grants.handleKey,
            meter: grants.meter, rules: base.settings.grants, accounts: base.store, sending: forwarding,
            clock: base.clock)
        // Both environments have the same.
        handles = providers.apis.values.first?.handles
        endpoints = grants.endpoints
    }

    /// Endpoints can be made from now on.
    func begin(at origin: String) {
        forwarding.begin(at: origin)
        endpoints?.origin = origin
    }
}

// Requests about handles and grants come over Web Push's port too.
extension HandleRequests: HandleAsking {
    package var maximumBodyBytes: Int { HandleRequest.maximumBodyBytes }

    package func takes(_ path: String) -> Bool { HandleRequest.isPath(path) }
}

extension PhoneForwarding {
    fileprivate convenience init(_ base: ServiceBase, _ forwarder: any Forwarding) {
        let via = base.byEnvironment {
            GatewayName(of: base.secrets.credentialSeal.serviceName, $0).via(after: "")
        }
        self.init(
            port: forwarder, via: via, accounts: base.store, bodies: base.store.webPushBodies, log: base.log.events,
            clock: base.clock,
            logger: base.logger)
    }
}
