import Connections
import Courier
import Delivery
import Trust

extension ListenerOpening {
    /// Opens the listeners that devices connect to.
    /// - Parameter webPushOrigin: the origin of the endpoints of Web Push; nil if the service has none.
    func openCouriers(_ lines: LineParts, webPushOrigin: String?) async throws(ServiceError) -> Listeners {
        let endpointKey = try await EndpointKey.kept(in: base.store.secrets)
        let (base, activations) = (base, Activations(invitations: base.store))
        let endpoints = WebPushEndpoints(base.store, key: endpointKey)
        endpoints.origin = webPushOrigin
        let couriers = base.byEnvironment { environment in
            Courier(
                environment: environment, authority: base.secrets.authority, tokenKeys: base.secrets.tokenKeys.keys,
                accounts: base.store, registrations: base.store, switchboard: lines.switchboard,
                broadcasts: lines.broadcasts, seen: lines.seen, activations: activations, fence: lines.fence,
                limits: base.settings.courier, limitLog: base.limitLog, clock: base.clock,
                webPush: endpoints)
        }
        return try await open(
            .courier, couriers,
            ConnectGuard(.courierConnectRate, base.settings.courierConnects, budget: base.budget, log: base.limitLog))
    }
}
