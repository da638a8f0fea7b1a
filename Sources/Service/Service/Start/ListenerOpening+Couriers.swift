import Connections
import Courier
import Delivery

extension ListenerOpening {
    /// Opens the listeners that devices connect to.
    /// - Parameter webPush: makes the endpoints of Web Push.
    func openCouriers(_ lines: LineParts, webPush: WebPushEndpoints) async throws(ServiceError) -> Listeners {
        let (base, activations) = (base, Activations(invitations: base.store))
        let couriers = base.byEnvironment { environment in
            Courier(
                environment: environment, authority: base.secrets.authority, tokenKeys: base.secrets.tokenKeys.keys,
                accounts: base.store, registrations: base.store, switchboard: lines.switchboard,
                broadcasts: lines.broadcasts, seen: lines.seen, activations: activations, fence: lines.fence,
                limits: base.settings.courier, limitLog: base.limitLog, clock: base.clock,
                webPush: webPush)
        }
        return try await open(
            .courier, couriers,
            ConnectGuard(.courierConnectRate, base.settings.courier.perAddress, budget: base.budget, log: base.limitLog)
        )
    }
}
