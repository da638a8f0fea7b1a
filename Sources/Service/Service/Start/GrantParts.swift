import Delivery
import ProviderAPI
import Storage
import Trust

/// What the gateway needs for grants: the keys of the handles and of Web Push's endpoints, and the numbers of what is sent.
struct GrantParts: Sendable {
    let meter: GrantMeter
    let handleKey: HandleKey
    let upkeep: GrantUpkeep
    let endpointKey: EndpointKey
    /// Makes endpoints of Web Push for phones; nil if the service has no Web Push.
    let endpoints: PhoneEndpoints?

    /// Reads the keys of the handles and of the endpoints, or makes them at the first start. Reads what was sent today.
    init(_ base: ServiceBase) async throws(ServiceError) {
        let store = base.store.grantStore
        let endpointKey = try await EndpointKey.kept(in: base.store.secrets)
        self.endpointKey = endpointKey
        endpoints =
            base.settings.webPush.isOn
            ? PhoneEndpoints(
                base.store.handleEndpoints, key: endpointKey,
                environments: Set(base.settings.environments)) : nil
        upkeep = GrantUpkeep(
            store: store, bodies: base.store.webPushBodies, accounts: base.store, clock: base.clock,
            rules: base.settings.grants)
        do throws(StoreError) {
            handleKey = try await Self.key(in: base.store.secrets, store)
            let metrics = base.metrics
            meter = GrantMeter(
                store: store, isShared: base.store.cluster != nil, accounts: base.store, clock: base.clock
            ) { metrics.grantAnswered($0, $1) }
            try await meter.load()
        } catch {
            throw ServiceError(.store, error.cause)
        }
    }

    private static func key(
        in secrets: any Secrets,
        _ store: any GrantStore,
    ) async throws(StoreError) -> HandleKey {
        var secret = try await secrets.secret(.handleKey)
        if secret == nil {
            // A new key would silently invalidate all handles.
            guard try await !store.hasHandles() else {
                throw StoreError(
                    .unreadable,
                    "The secret \(SecretName.handleKey.rawValue) is missing, and there are handles: restore it from a "
                        + "backup.")
            }
            secret = try await secrets.keep(HandleKey.makeSecret(), as: .handleKey)
        }
        guard let secret, let key = HandleKey(secret) else {
            throw StoreError(
                .unreadable, "The secret \(SecretName.handleKey.rawValue) is damaged: restore it from a backup.")
        }
        return key
    }
}

extension SecretName {
    static let handleKey = SecretName(known: "handle-key")
}
