import Connections
import Delivery
import Notifications
import Storage
import Trust
import VirtualDevices

/// The lines of connected devices, and the broadcasts that go to them.
struct LineParts: Sendable {
    let local: LocalSwitchboard
    /// Nil if no other service uses the store.
    let shared: SharedSwitchboard?
    /// Likewise.
    let fence: HoldFence?
    let broadcasts: Broadcasts
    let seen = SeenDevices()

    var switchboard: any Switchboard { shared ?? local }

    init(_ base: ServiceBase) async throws(ServiceError) {
        let (store, clock, limitLog, metrics) = (base.store, base.clock, base.limitLog, base.metrics)
        let numbering: AttemptNumbering
        do throws(StoreError) {
            numbering = try await .load(from: store)
        } catch {
            throw ServiceError(.store, error.cause)
        }
        let fence = store.cluster.map { HoldFence($0) }
        let local = LocalSwitchboard(
            mailboxes: store, numbering: numbering, log: base.log.events, limits: base.settings.delivery,
            limitExceeded: { limitLog.limitExceeded($0) }, fence: fence, clocks: clock.teams, clock: { clock.moment })
        clock.teams.follow { [accounts = store as any Accounts] in accounts.current.app($0)?.team }
        broadcasts = Broadcasts(
            channels: store.broadcastChannels, news: store.cluster, accounts: store, log: base.log.events,
            limits: base.settings.channels, limitExceeded: { limitLog.limitExceeded($0) },
            sent: { metrics.broadcastSent(to: $0) }, fence: fence,
            wasStopped: { store.cluster != nil && store.wasStopped }, clock: clock)
        if let cluster = store.cluster, let fence {
            shared = SharedSwitchboard(local, cluster, fence, store)
        } else {
            shared = nil
        }
        shared?.use(broadcasts)
        broadcasts.respectPower(of: local)
        self.local = local
        self.fence = fence
    }
}

extension Delivery {
    convenience init(
        _ base: ServiceBase,
        _ lines: LineParts,
        origin: OfferOrigin,
        _ development: DevelopmentParts?,
    ) {
        let (store, limitLog, devices) = (base.store, base.limitLog, development?.devices)
        let (registrations, mailboxes) = development?.ports(store) ?? (store, store)
        self.init(
            accounts: store, registrations: registrations, mailboxes: mailboxes, switchboard: lines.switchboard,
            feedback: store,
            origin: origin, log: base.log.events, limits: base.settings.delivery,
            limitExceeded: { limitLog.limitExceeded($0) }, isExpired: { devices?.isExpired($0) ?? false },
            clock: base.clock)
    }
}
