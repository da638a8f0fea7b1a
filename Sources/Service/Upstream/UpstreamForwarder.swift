import APNSProvider
package import Delivery
package import Logging
package import NIOCore
package import Notifications
import Synchronization
import Trust

/// Forwards notifications over one pool of connections for each upstream and each of its credentials.
package final class UpstreamForwarder: Forwarding {
    private struct State {
        /// The pools in use, by the identity of their endpoint and, for passed provider tokens, by team and key.
        var pools: [String: UpstreamPool] = [:]
        var places: [UpstreamPlace: Place] = [:]
        /// What ``run(_:)`` follows; nil before it.
        var accounts: (any Accounts)?
        var isShutDown = false
    }

    /// What is known of the upstream of an app.
    private struct Place {
        var upstream: AppUpstream
        let endpoint: UpstreamVault.Endpoint
        /// Nil if the credentials are the clients'.
        let credentials: CredentialsWatch?
        /// Nil if each key has a pool of its own.
        var pool: UpstreamPool?
        var passthroughPools: [PassedKey: UpstreamPool] = [:]
    }

    private struct PassedKey: Hashable {
        let team: TeamID
        let key: KeyID

        init(_ authorization: PassedAuthorization) {
            team = authorization.team
            key = authorization.key
        }
    }

    private let vault: UpstreamVault
    private let variables: [String: String]
    private let metrics: UpstreamMetrics
    private let logger: Logger
    private let group: any EventLoopGroup
    private let now: @Sendable () -> Timestamp
    private let tokens: CountingTokenStore
    private let state = Mutex(State())

    /// - Parameters:
    ///   - variables: the process's environment, which may name a proxy.
    ///   - group: the event loops of the gateway's clients. If a client and an upstream have the same one, no thread has to
    ///     wake another.
    ///   - now: the machine's time.
    package init(
        _ vault: UpstreamVault,
        variables: [String: String],
        metrics: UpstreamMetrics,
        logger: Logger,
        group: any EventLoopGroup,
        now: @escaping @Sendable () -> Timestamp,
    ) {
        self.now = now
        self.vault = vault
        self.variables = variables
        self.metrics = metrics
        self.logger = logger
        self.group = group
        tokens = CountingTokenStore(metrics)
    }

    package func forward(_ pushes: [TicketedPush], to upstream: AppUpstream, answers: any ForwardingAnswers) {
        guard upstream.credentials == .passthrough else { return forward(pushes, to: upstream, nil, answers) }
        let byKey = Dictionary(grouping: pushes) { $0.push.authorization.map { PassedKey($0) } }
        for (key, pushes) in byKey { forward(pushes, to: upstream, key, answers) }
    }

    /// - Parameter key: that of the clients' provider tokens, if they are passed on.
    private func forward(
        _ pushes: [TicketedPush],
        to upstream: AppUpstream,
        _ key: PassedKey?,
        _ answers: any ForwardingAnswers,
    ) {
        do throws(UpstreamError) {
            let (pool, credentials) = try pool(for: upstream, key)
            let place = metrics.of(upstream.place)
            let batch = ForwardedBatch(answers, place, credentials)
            place.sent(pushes.count)
            pool.forward(pushes.map { batch.request($0.ticket, $0.push, metrics.of($0.push.share)) })
        } catch {
            let failure = ForwardingAnswer.failed(error.cause, mayHaveBeenTaken: false)
            let isAny = pushes.map { answers.add(failure, to: $0.ticket) }.contains(true)
            if isAny { answers.answersArrived() }
        }
    }

    /// The apps whose upstreams refuse the gateway's own key or certificate, as this node has seen it.
    package var refusals: [UpstreamPlace: CredentialsRefusal] {
        state.withLock { state in state.places.compactMapValues { $0.credentials?.refusal } }
    }

    /// Follows the accounts until the task is cancelled: opens upstreams that were set, ends the connections to those that
    /// were removed or changed, and gives up what grants have waiting that were suspended or revoked.
    package func run(_ accounts: any Accounts) async {
        state.withLock { $0.accounts = accounts }
        // It also waits for the ends of pools, so that these come before the end of the event loops.
        await withDiscardingTaskGroup { group in
            var known: GrantTable?
            for await snapshot in accounts.changes() {
                open(snapshot)
                for pool in forget(allBut: snapshot) { group.addTask { await pool.shutDown() } }
                let ended = known.map { Self.ended($0, snapshot.grants) } ?? []
                known = snapshot.grants
                if !ended.isEmpty {
                    for pool in state.withLock({ Array($0.pools.values) }) { pool.giveUpWaiting(of: ended) }
                }
            }
        }
    }

    /// The grants that were active before and are not any more. Looks at all grants only if there may be such a one.
    private static func ended(_ before: GrantTable, _ now: GrantTable) -> Set<String> {
        guard before.losses != now.losses else { return [] }
        return Set(before.values.filter { $0.isActive && now[$0.id]?.isActive != true }.map(\.id.rawValue))
    }

    private func open(_ snapshot: AccountsSnapshot) {
        for upstream in snapshot.upstreams.values {
            do throws(UpstreamError) {
                _ = try state.withLock { state throws(UpstreamError) in try place(of: upstream, &state) }
            } catch {
                // The next snapshot has the new one.
                guard error.code != .changed else { continue }
                logger.warning(
                    "The upstream cannot be used",
                    metadata: ["upstream": "\(upstream.place)", "cause": "\(error.cause)"])
            }
        }
    }

    /// Refuses new notifications, and waits for the answers to those under way.
    package func shutDown() async {
        let pools = state.withLock { state in
            state.isShutDown = true
            defer {
                state.pools = [:]
                state.places = [:]
            }
            return Array(state.pools.values)
        }
        await withDiscardingTaskGroup { group in
            for pool in pools { group.addTask { await pool.shutDown() } }
        }
    }

    // MARK: Pools

    private func pool(
        for upstream: AppUpstream,
        _ key: PassedKey?,
    ) throws(UpstreamError) -> (UpstreamPool, CredentialsWatch?) {
        // Keep the lock until the pool is recorded. Otherwise an upstream that is changed before that would get a pool
        // of its former URL.
        try state.withLock { state throws(UpstreamError) in
            let place = try place(of: upstream, &state)
            if let pool = place.pool { return (pool, place.credentials) }
            guard let key else {
                throw UpstreamError(.badCredentials, "The upstream needs the client's provider token.")
            }
            if let pool = place.passthroughPools[key] { return (pool, nil) }
            let pool = try poolFor(place.endpoint, suffix: "\(key.team) \(key.key)", upstream.place, &state)
            state.places[upstream.place]?.passthroughPools[key] = pool
            return (pool, nil)
        }
    }

    private func place(of upstream: AppUpstream, _ state: inout State) throws(UpstreamError) -> Place {
        if let known = state.places[upstream.place], known.upstream == upstream {
            // The accounts may have an equal one after a change by another node. Comparing the same one is cheap.
            if known.upstream !== upstream { state.places[upstream.place]?.upstream = upstream }
            return known
        }
        // Without this, what was judged before a change would open connections with credentials that were withdrawn.
        if let accounts = state.accounts, accounts.current.upstreams[upstream.place] != upstream {
            throw UpstreamError(.changed, "The app's upstream was changed; send the request again.")
        }
        let endpoint = try vault.endpoint(of: upstream, variables: variables)
        let isOwn = upstream.credentials != .passthrough
        var place = Place(
            upstream: upstream, endpoint: endpoint,
            credentials: isOwn
                ? CredentialsWatch(
                    upstream.place, metrics.refusedCredentials(of: upstream.place), logger: logger, now: now) : nil)
        if upstream.credentials != .passthrough {
            place.pool = try poolFor(endpoint, suffix: "", upstream.place, &state)
        }
        state.places[upstream.place]?.credentials?.end()
        state.places[upstream.place] = place
        return place
    }

    private func poolFor(
        _ endpoint: UpstreamVault.Endpoint,
        suffix: String,
        _ place: UpstreamPlace,
        _ state: inout State,
    ) throws(UpstreamError) -> UpstreamPool {
        guard !state.isShutDown else { throw UpstreamError(.badAddress, "The service is shutting down.") }
        let name = endpoint.identity + "\n" + suffix
        if let known = state.pools[name] { return known }
        let gauge = metrics.connections(of: endpoint.environment.host)
        let pool = try UpstreamPool(endpoint, tokens: tokens, logger: logger, group: group) { gauge.change(by: $0) }
        state.pools[name] = pool
        return pool
    }

    /// Forgets upstreams that are no longer in the accounts, and pools of keys that are not.
    /// - Returns: the pools that nobody uses any more.
    private func forget(allBut snapshot: AccountsSnapshot) -> [UpstreamPool] {
        state.withLock { state in
            for (name, place) in state.places {
                guard snapshot.upstreams[name] == place.upstream else {
                    place.credentials?.end()
                    state.places[name] = nil
                    continue
                }
                for key in place.passthroughPools.keys
                where snapshot.keys[key.key]?.revoked != nil || snapshot.keys[key.key] == nil {
                    state.places[name]?.passthroughPools[key] = nil
                }
            }
            let used = Set(
                state.places.values.flatMap { place in
                    (place.pool.map { [$0] } ?? []) + Array(place.passthroughPools.values)
                }.map { ObjectIdentifier($0) })
            let unused = state.pools.filter { !used.contains(ObjectIdentifier($0.value)) }
            for name in unused.keys { state.pools[name] = nil }
            return Array(unused.values)
        }
    }
}
