import Courier
import Delivery
import DeliveryLogFiles
import Management
import Notifications
import PrometheusMetrics
import Rehearsals
import Trust
import Upstream

extension ManagementParts {
    init(
        _ base: ServiceBase,
        lines: LineParts,
        delivery: Delivery,
        grants: GrantParts,
        forwarder: UpstreamForwarder,
        development: DevelopmentParts?,
        peers: PeerParts?,
        state: ServiceState,
        metrics: MetricsSource,
        history: MetricsHistory,
        log: DeliveryLogSource,
    ) {
        let (accounts, clock): (any Accounts, _) = (base.store, base.clock)
        let (authority, tokenKeys) = (base.secrets.authority, base.secrets.tokenKeys)
        let otherLogs: (@Sendable (NotificationID) async throws -> OtherLogs)? = peers.map { $0.otherLogs(of:) }
        let otherDevices: OtherDevices.Question? = peers.map { $0.otherDevices(among:leavingOut:) }
        self.init(
            accounts: accounts, invitations: base.store, grants: base.store.grantStore,
            grantMeter: grants.meter, grantUpkeep: grants.upkeep, registrations: base.store,
            switchboard: lines.switchboard,
            broadcasts: lines.broadcasts, seen: lines.seen, tokenKeys: tokenKeys.keys, authority: authority,
            authorityPEM: base.authorityPEM, upstreams: UpstreamVault(base.secrets.credentialSeal), log: log,
            rotateTokenKey: { try await tokenKeys.rotate().rawValue },
            revocationList: { try authority.revocationList(of: accounts.current, at: clock.machineTime) },
            metrics: { metrics.read().text() },
            unreadiness: { await state.unreadiness() }, started: clock.machineTime,
            history: { history.samples(after: $0) }, clock: clock,
            rehearsals: development?.rehearsals,
            advance: Self.advance(base, lines, delivery),
            testing: development?.forManagement, cluster: peers?.cluster,
            otherLogs: otherLogs, otherDevices: otherDevices)
        conformance = base.settings.conformance
        upstreamRefusals = { forwarder.refusals }
        limits = base.settings.managementLimits
    }

    /// Advances the clock of the service or of a team, and does what becomes due.
    private static func advance(
        _ base: ServiceBase,
        _ lines: LineParts,
        _ delivery: Delivery,
    ) -> @Sendable (Duration, TeamID?) async throws(ServiceClock.AdvanceError) -> Timestamp {
        let (clock, log, store) = (base.clock, base.log.files, base.store)
        return { duration, team throws(ServiceClock.AdvanceError) in
            // Write the earlier events first, with the times that they have.
            await log.flush()
            let time: Timestamp
            if let team {
                time = try clock.advance(team, by: duration)
                let apps = Set(store.current.apps.values.lazy.filter { $0.team == team }.map(\.id))
                lines.local.advanced(apps, by: duration)
                lines.broadcasts.advanced(apps, by: duration)
                delivery.advanced(apps, by: duration)
            } else {
                time = try clock.advance(by: duration)
                // Remove old files before writing anything new, because a file's age counts from its last event.
                await log.removeOld()
            }
            lines.local.tick()
            await delivery.catchUp()
            await log.flush()
            return time
        }
    }
}
