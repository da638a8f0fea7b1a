import APNSProvider
package import Delivery
package import Logging
import Notifications
import Synchronization
import Trust

/// Forwards notifications over one pool of connections for each upstream and each of its credentials.
package final class UpstreamForwarder: Forwarding {
    private struct State {
        /// The pools in use, by the identity of their endpoint and, for passed provider tokens, by team and key.
        var pools: [String: UpstreamPool] = [:]
        var places: [UpstreamPlace: Place] = [:]
        var isShutDown = false
    }

    /// What is known of the upstream of an app.
    private struct Place {
        let upstream: AppUpstream
        let endpoint: UpstreamVault.Endpoint
        /// Nil if each key has a pool of its own.
        var pool: UpstreamPool?
        var passed: [PassedKey: UpstreamPool] = [:]
    }

    private struct PassedKey: Hashable {
        let team: TeamID
        let key: KeyID
    }

    private let vault: UpstreamVault
    private let variables: [String: String]
    private let metrics: UpstreamMetrics
    private let logger: Logger
    private let tokens: CountingTokenStore
    private let state = Mutex(State())

    /// - Parameter variables: the process's environment, which may name a proxy.
    package init(_ vault: UpstreamVault, variables: [String: String], metrics: UpstreamMetrics, logger: Logger) {
        self.vault = vault
        self.variables = variables
        self.metrics = metrics
        self.logger = logger
        tokens = CountingTokenStore(metrics)
    }

    package func forward(
        _ push: ForwardedPush,
        to upstream: AppUpstream,
        answer: @escaping @Sendable (ForwardingAnswer) -> Void,
    ) {
        let pool: UpstreamPool
        do throws(UpstreamError) {
            pool = try self.pool(for: upstream, push.authorization)
        } catch {
            return answer(.failed(error.cause, mayHaveBeenTaken: false))
        }
        let (metrics, grant, start) = (metrics.of(upstream.place), metrics.of(push.share), ContinuousClock.now)
        metrics.sent()
        pool.forward(push) { told in
            let time = start.duration(to: .now)
            metrics.answered(told, after: time)
            grant?.answered(after: time)
            answer(told)
        }
    }

    /// Follows the accounts until the task is cancelled: opens upstreams that were set, ends the connections to those that
    /// were removed or changed, and gives up what grants have waiting that were suspended or revoked.
    package func run(_ accounts: any Accounts) async {
        var active: Set<GrantID> = []
        for await snapshot in accounts.changes() {
            for upstream in snapshot.upstreams.values {
                do throws(UpstreamError) {
                    _ = try place(of: upstream)
                } catch {
                    logger.warning(
                        "The upstream cannot be used",
                        metadata: ["upstream": "\(upstream.place)", "cause": "\(error.cause)"])
                }
            }
            for pool in forget(allBut: snapshot) { Task { await pool.shutDown() } }
            let nowActive = Set(snapshot.grants.values.filter(\.isActive).map(\.id))
            let ended = Set(active.subtracting(nowActive).map(\.rawValue))
            active = nowActive
            if !ended.isEmpty {
                for pool in state.withLock({ Array($0.pools.values) }) { pool.giveUpWaiting(of: ended) }
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
        _ passed: PassedAuthorization?,
    ) throws(UpstreamError) -> UpstreamPool {
        let place = try place(of: upstream)
        if let pool = place.pool { return pool }
        guard let passed else {
            throw UpstreamError(.badCredentials, "The upstream needs the client's provider token.")
        }
        let key = PassedKey(team: passed.team, key: passed.key)
        if let pool = place.passed[key] { return pool }
        return try state.withLock { state throws(UpstreamError) in
            let pool = try poolFor(place.endpoint, suffix: "\(key.team) \(key.key)", upstream.place, &state)
            state.places[upstream.place]?.passed[key] = pool
            return pool
        }
    }

    private func place(of upstream: AppUpstream) throws(UpstreamError) -> Place {
        try state.withLock { state throws(UpstreamError) in
            if let known = state.places[upstream.place], known.upstream == upstream { return known }
            guard !state.isShutDown else { throw UpstreamError(.badAddress, "The service is shutting down.") }
            let endpoint = try vault.endpoint(of: upstream, variables: variables)
            var place = Place(upstream: upstream, endpoint: endpoint)
            if upstream.credentials != .passthrough {
                place.pool = try poolFor(endpoint, suffix: "", upstream.place, &state)
            }
            state.places[upstream.place] = place
            return place
        }
    }

    private func poolFor(
        _ endpoint: UpstreamVault.Endpoint,
        suffix: String,
        _ place: UpstreamPlace,
        _ state: inout State,
    ) throws(UpstreamError) -> UpstreamPool {
        let name = endpoint.identity + "\n" + suffix
        if let known = state.pools[name] { return known }
        let gauge = metrics.connections(of: endpoint.environment.host)
        let pool = try UpstreamPool(endpoint, tokens: tokens, logger: logger) { gauge.change(by: $0) }
        state.pools[name] = pool
        return pool
    }

    /// Forgets upstreams that are no longer in the accounts, and pools of keys that are not.
    /// - Returns: the pools that nobody uses any more.
    private func forget(allBut snapshot: AccountsSnapshot) -> [UpstreamPool] {
        state.withLock { state in
            for (name, place) in state.places {
                guard snapshot.upstreams[name] == place.upstream else {
                    state.places[name] = nil
                    continue
                }
                for key in place.passed.keys
                where snapshot.keys[key.key]?.revoked != nil || snapshot.keys[key.key] == nil {
                    state.places[name]?.passed[key] = nil
                }
            }
            let used = Set(
                state.places.values.flatMap { place in
                    (place.pool.map { [$0] } ?? []) + Array(place.passed.values)
                }.map { ObjectIdentifier($0) })
            let unused = state.pools.filter { !used.contains(ObjectIdentifier($0.value)) }
            for name in unused.keys { state.pools[name] = nil }
            return Array(unused.values)
        }
    }
}
