package import Notifications
import Rates
import Storage
import Synchronization

// Work of `Delivery` that is due at certain times.
extension Delivery {
    /// Works until the task is cancelled: stores notifications that were not acknowledged in time, and removes
    /// expired ones and the data of deleted apps.
    package func run() async {
        await withDiscardingTaskGroup { group in
            group.addTask { await self.runDeadlines() }
            group.addTask { await self.runSweep() }
            group.addTask { await self.runRemoval() }
            group.addTask { await self.runFitting() }
        }
    }

    /// Handles deadlines of acknowledgements. It wakes only while a notification waits for one, and then at the first
    /// deadline. Notifications that come later have later deadlines.
    private func runDeadlines() async {
        for await _ in wakeUps {
            while let next = nextDeadline() {
                let remaining = next.duration(since: clock.moment.uptime)
                do {
                    // Sleep at least this long, so that many deadlines that follow one another are handled together.
                    try await Task.sleep(for: max(remaining, limits.acknowledgementGrace / 4))
                } catch {
                    return
                }
                tick()
            }
        }
    }

    /// Does everything that is due now. Called after the clock was advanced.
    package func catchUp() async {
        tick()
        await sweep()
    }

    /// The clock of the team that owns these apps has advanced: what was counted for their device tokens is older now.
    package func advanced(_ apps: Set<AppID>, by duration: Duration) {
        let nanoseconds = UInt64(clamping: duration.attoseconds / 1_000_000_000)
        for shard in shards {
            shard.rates.withLock { $0.age(by: nanoseconds) { apps.contains($0.app) } }
        }
    }

    /// Stores notifications that were not acknowledged in time.
    private func tick() {
        let now = clock.moment
        for shard in shards { advance(shard, now) { $0.tick(now: now.uptime) } }
    }

    /// Removes expired notifications.
    private func sweep() async {
        do {
            while try await mailboxes.removeExpired(before: clock.time, limit: limits.sweepBatch)
                == limits.sweepBatch
            {}
            // A team whose clock is ahead has notifications that have expired for it alone.
            let offsets = clock.teams.offsets
            guard !offsets.isEmpty else { return }
            for app in accounts.current.apps.values where offsets[app.team] != nil {
                let time = clock.teams.time(clock.time, of: app.id)
                while try await mailboxes.removeExpired(before: time, of: app.id, limit: limits.sweepBatch)
                    == limits.sweepBatch
                {}
            }
        } catch {
            // If this fails, the next sweep tries again. Expired notifications are never delivered in any case.
        }
    }

    private func nextDeadline() -> Uptime? {
        shards.lazy.compactMap { shard in shard.acceptances.withLock { $0.nextDeadline() } }.min()
    }

    private func runSweep() async {
        while !Task.isCancelled {
            await sweep()
            do {
                try await Task.sleep(for: limits.sweepInterval)
            } catch {
                return
            }
        }
    }

    /// Makes mailboxes fit into bounds that have become less. It runs at the start, because an earlier process may have
    /// ended before everything fitted, and after each change of the bounds.
    private func runFitting() async {
        var known: [AppID: Int]?
        for await snapshot in accounts.changes() {
            let bounds = snapshot.keeping
            keeping.set(bounds.keys)
            let isDue = known != bounds
            known = bounds
            while isDue, !Task.isCancelled {
                do throws(StoreError) {
                    while try await mailboxes.fitMailboxes(limit: limits.fittingBatch) == limits.fittingBatch {}
                    break
                } catch {
                    // If this fails, try again later. If the task was cancelled, the sleep fails and the loop ends.
                    try? await Task.sleep(for: limits.sweepInterval)
                }
            }
        }
    }

    /// Removes the data of deleted apps. It runs at the start, because an earlier process may have ended before
    /// everything was removed, and after each change that deletes an app.
    private func runRemoval() async {
        var known: AccountsSnapshot?
        for await snapshot in accounts.changes() {
            let isDue = known.map { snapshot.lacksApp(of: $0) } ?? true
            known = snapshot
            while isDue, !Task.isCancelled {
                do throws(StoreError) {
                    while try await registrations.removeOrphaned(limit: limits.removalBatch) == limits.removalBatch {}
                    break
                } catch {
                    // If this fails, try again later: nobody can reach this data in any case. If the task was
                    // cancelled, the sleep fails and the loop ends.
                    try? await Task.sleep(for: limits.sweepInterval)
                }
            }
        }
    }
}
