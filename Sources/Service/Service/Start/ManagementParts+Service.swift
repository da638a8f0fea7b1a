import Courier
import PrometheusMetrics
import Delivery
import DeliveryLogFiles
import Management
import Notifications
import Rehearsals
import Trust

extension ManagementParts {
    init(
        _ base: ServiceBase,
        _ lines: LineParts,
        _ delivery: Delivery,
        _ development: DevelopmentParts?,
        _ peers: PeerParts?,
        state: ServiceState,
        history: MetricsHistory,
        log: DeliveryLogSource,
    ) {
        let (accounts, clock): (any Accounts, _) = (base.store, base.clock)
        let (authority, tokenKeys) = (base.secrets.authority, base.secrets.tokenKeys)
        let metrics = base.metrics
        let otherLogs: (@Sendable (NotificationID) async -> OtherLogs)? = peers.map { $0.otherLogs(of:) }
        let otherDevices: OtherDevices.Question? = peers.map { $0.otherDevices(among:leavingOut:) }
        self.init(
            accounts: accounts, invitations: base.store, registrations: base.store, switchboard: lines.switchboard,
            broadcasts: lines.broadcasts, tokenKeys: tokenKeys.keys, authority: authority, log: log,
            rotateTokenKey: { try await tokenKeys.rotate().rawValue },
            revocationList: { try authority.revocationList(of: accounts.current, at: clock.machineTime) },
            metrics: { metrics.read(lines, delivery).text() },
            unreadiness: { await state.unreadiness() }, started: clock.machineTime,
            history: { history.samples(after: $0) }, clock: clock,
            rehearsals: development?.rehearsals,
            advance: Self.advance(clock, lines.local, delivery, base.log.files),
            testing: development?.forManagement, cluster: peers?.cluster,
            otherLogs: otherLogs, otherDevices: otherDevices)
    }

    /// Advances the clock, and does what becomes due.
    private static func advance(
        _ clock: ServiceClock,
        _ switchboard: LocalSwitchboard,
        _ delivery: Delivery,
        _ log: FileDeliveryLog,
    ) -> @Sendable (Duration) async throws(ServiceClock.AdvanceError) -> Timestamp {
        { duration throws(ServiceClock.AdvanceError) in
            // Write the earlier events first, with the times that they have.
            await log.flush()
            let time = try clock.advance(by: duration)
            // Remove old files before writing anything new, because a file's age counts from its last event.
            await log.removeOld()
            switchboard.tick()
            await delivery.catchUp()
            await log.flush()
            return time
        }
    }
}

extension ServiceMetrics {
    func read(_ lines: LineParts, _ delivery: Delivery) -> PrometheusRegistry {
        read(connectedDevices: lines.local.connectedDevices, pendingStores: delivery.pendingStores)
    }
}
