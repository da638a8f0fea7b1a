package import Notifications
package import Storage
import Synchronization

/// Ends handles that were not registered for a long time, forgets those that have ended long ago, and removes grants that were
/// revoked long ago, and bodies of Web Push that no phone can fetch any more. All times are the service's.
package final class GrantUpkeep: Sendable {
    /// How often it looks, by the service's clock. A look reads the table of handles once: a third of a second for a million.
    package static let interval = Duration.seconds(3600)
    /// The largest number of handles that are changed in one transaction.
    private static let changedTogether = 1000

    private let store: any GrantStore
    private let bodies: (any WebPushBodyStore)?
    private let accounts: any Accounts
    private let clock: ServiceClock
    package let rules: GrantRules
    private struct State {
        /// When the last look began; nil if there was none.
        var last: Timestamp?
        var looking: Task<Void, Never>?
    }
    private let state = Mutex(State())

    package init(
        store: any GrantStore,
        bodies: (any WebPushBodyStore)? = nil,
        accounts: any Accounts,
        clock: ServiceClock,
        rules: GrantRules,
    ) {
        self.store = store
        self.bodies = bodies
        self.accounts = accounts
        self.clock = clock
        self.rules = rules
    }

    /// Looks at regular times until the task is cancelled.
    package func run() async {
        repeat {
            await catchUp()
            // The sleep fails only if the task is cancelled, which ends the loop.
        } while (try? await Task.sleep(for: Self.interval)) != nil
    }

    /// Looks if the last look is longer ago than ``interval``. If it fails, the next call looks again.
    package func catchUp() async {
        let now = clock.time
        let task = state.withLock { state -> Task<Void, Never>? in
            if let last = state.last, now < last.advanced(by: Self.interval) { return state.looking }
            let (before, previous) = (state.looking, state.last)
            state.last = now
            let task = Task {
                await before?.value
                do throws(StoreError) {
                    try await look(at: now)
                } catch {
                    self.state.withLock { state in
                        if state.last == now { state.last = previous }
                    }
                }
            }
            state.looking = task
            return task
        }
        await task?.value
    }

    /// Does what is due at a moment.
    package func look(at now: Timestamp) async throws(StoreError) {
        let sweep = HandleSweep(rules: rules, at: now)
        var last: Handle?
        repeat {
            let changed = try await store.sweep(sweep, after: last, limit: Self.changedTogether)
            last = changed.count < Self.changedTogether ? nil : changed.last
        } while last != nil && !Task.isCancelled
        try await bodies?.removeExpired(at: now)
        let grants = accounts.current.grants
        guard grants.count > grants.unrevokedCount else { return }
        // Revocations have the machine's time.
        let old = grants.values.filter { grant in
            grant.revoked.map { clock.serviceTime(ofClient: $0) <= sweep.unlisted } ?? false
        }.map(\.id)
        if !old.isEmpty { _ = try await accounts.apply(.removeRevokedGrants(old)) }
    }
}

/// What becomes of handles at a moment.
package struct HandleSweep: Sendable, Hashable {
    package let now: Timestamp
    /// Handles that were registered until this moment and not since have ended.
    package let aged: Timestamp
    /// How long a handle is valid without a new registration, in milliseconds.
    package let age: UInt64
    /// Handles that have ended until this moment are not listed any more.
    package let unlisted: Timestamp
    /// Handles that have ended until this moment are forgotten.
    package let forgotten: Timestamp

    package init(rules: GrantRules, at now: Timestamp) {
        self.now = now
        age = UInt64(clamping: rules.handleAge.components.seconds) * 1000  // fits: a setting, ten years at most
        aged = now.before(by: rules.handleAge)
        unlisted = now.before(by: GrantRules.listed)
        forgotten = now.before(by: GrantRules.remembered)
    }

    /// The end of a handle; nil if it is active.
    package func end(of handle: StoredHandle) -> HandleEnd? {
        if let end = handle.end { return end }
        guard handle.registered <= aged else { return nil }
        return HandleEnd(
            reason: .unregistered, moment: handle.registered.advanced(by: .milliseconds(Int64(clamping: age))),
            noted: now)
    }
}

extension Timestamp {
    /// The moment that was a duration before; the beginning of 1970 if it was earlier.
    fileprivate func before(by duration: Duration) -> Timestamp {
        let past = UInt64(clamping: duration.components.seconds) * 1000  // fits: a setting or a constant, some years
        return Timestamp(milliseconds: milliseconds - min(milliseconds, past))
    }
}
