import Connections
import Courier
import Delivery
import Trust

extension ListenerOpening {
    /// Opens the listeners that devices connect to.
    /// - Parameter webPushOrigin: the origin of endpoints; nil if the service has no Web Push.
    func openCouriers(_ lines: LineParts, webPushOrigin: String? = nil) async throws(ServiceError) -> Listeners {
        let endpointKey = try await EndpointKey.kept(in: base.store.secrets)
        let (base, activations) = (base, Activations(invitations: base.store))
        let couriers = base.byEnvironment { environment in
            let courier = Courier(
                environment: environment, authority: base.secrets.authority, tokenKeys: base.secrets.tokenKeys.keys,
                accounts: base.store, registrations: base.store, switchboard: lines.switchboard,
                broadcasts: lines.broadcasts, seen: lines.seen, activations: activations, fence: lines.fence,
                limits: base.settings.courier, limitLog: base.limitLog, clock: base.clock,
                webPush: WebPushEndpoints(base.store, key: endpointKey))
            courier.webPushOrigin = webPushOrigin
            return courier
        }
        return try await open(
            .courier, couriers,
            ConnectGuard(.courierConnectRate, base.settings.courierConnects, budget: base.budget, log: base.limitLog))
    }
}
