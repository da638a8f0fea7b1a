import Synchronization

// What time demands.
extension Delivery {
    /// Does what time demands until the task is cancelled: stores what was not acknowledged in time, and removes what
    /// has expired, and what deleted apps have left behind.
    package func run() async {
        await withDiscardingTaskGroup { group in
            group.addTask { await self.runDeadlines() }
            group.addTask { await self.runSweep() }
            group.addTask { await self.runRemoval() }
        }
    }

    /// Wakes up only while something waits for an acknowledgement, and then for the first that is due: what comes
    /// meanwhile is due later.
    private func runDeadlines() async {
        for await _ in wakeUps {
            while let next = nextDeadline() {
                let remaining = next.duration(since: clock.moment.uptime)
                do {
                    // Where many are late one after the other, they are gathered.
                    try await Task.sleep(for: max(remaining, limits.acknowledgementGrace / 4))
                } catch {
                    return
                }
                tick()
            }
        }
    }

    /// Does at once what the clock demands now: for a clock that was advanced.
    package func catchUp() async {
        tick()
        await sweep()
    }

    /// Stores what was not acknowledged in time.
    private func tick() {
        let now = clock.moment
        for shard in shards { advance(shard, now) { $0.tick(now: now.uptime) } }
    }

    /// Removes what has expired.
    private func sweep() async {
        do {
            while try await mailboxes.removeExpired(before: clock.time, limit: limits.sweepBatch)
                == limits.sweepBatch
            {}
        } catch {
            // What has expired is not delivered in any case; the next sweep tries again.
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

    /// At the start, because the service may have ended before all was removed, and after each change that deletes an app.
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
                    // Nobody can reach it in any case. The sleep ends early only with the task.
                    try? await Task.sleep(for: limits.sweepInterval)
                }
            }
        }
    }
}
