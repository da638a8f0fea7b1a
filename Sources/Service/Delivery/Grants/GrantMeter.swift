package import Notifications
package import Storage
import Synchronization

/// Counts what grants send, and enforces their rates and daily numbers on this node. The numbers are written to the store
/// twice a second, where other nodes read them and the next start finds them.
package final class GrantMeter: Sendable {
    /// How often the numbers are written. A crash loses what was counted since, and each node of a cluster learns this late
    /// what the others have sent.
    package static let interval = Duration.milliseconds(500)
    /// The largest number of handles that are removed in one transaction.
    private static let removedTogether = 1000

    private struct Entry {
        var use: GrantUse
        var answers: [String: UInt64] = [:]
    }

    private let store: any GrantStore
    private let isShared: Bool
    private let accounts: any Accounts
    private let clock: ServiceClock
    private let counted: @Sendable (GrantID, String) -> Void
    private let entries = Mutex<[GrantID: Entry]>([:])
    /// The last call of ``write(readsOthers:)``.
    private let writing = Mutex<Task<Void, Never>?>(nil)

    /// - Parameters:
    ///   - isShared: whether other nodes count in the same store.
    ///   - counted: called with each answer, for the metrics.
    package init(
        store: any GrantStore,
        isShared: Bool = false,
        accounts: any Accounts,
        clock: ServiceClock,
        counted: @escaping @Sendable (GrantID, String) -> Void = { _, _ in },
    ) {
        self.store = store
        self.isShared = isShared
        self.counted = counted
        self.accounts = accounts
        self.clock = clock
    }

    /// Reads what was sent today. No grant may send before.
    package func load() async throws(StoreError) {
        let day = GrantUse.day(of: clock.time)
        let sent = try await store.sent(on: day)
        entries.withLock { entries in
            for (grant, count) in sent { entries[grant] = Entry(use: GrantUse(day: day, sent: count)) }
        }
    }

    /// Counts a notification of a grant, or says why it may not be sent now.
    package func spend(_ grant: Grant) -> GrantUse.Refusal? {
        let now = clock.time
        return entries.withLock { entries in
            entries[grant.id, default: Entry(use: GrantUse(day: GrantUse.day(of: now)))].use.spend(
                grant.limits, at: now)
        }
    }

    /// Counts an answer to a request of a grant.
    /// - Parameter outcome: `200`, or the reason of a refusal. There must be few different ones.
    package func answered(_ grant: GrantID, _ outcome: String) {
        let day = GrantUse.day(of: clock.time)
        entries.withLock { $0[grant, default: Entry(use: GrantUse(day: day))].answers[outcome, default: 0] += 1 }
        counted(grant, outcome)
    }

    /// Writes the numbers until the task is cancelled, and removes the handles of grants that were revoked or deleted.
    package func run() async {
        await withDiscardingTaskGroup { group in
            group.addTask {
                // The sleep fails only if the task is cancelled, which ends the loop.
                while (try? await Task.sleep(for: Self.interval)) != nil {
                    await self.write(readsOthers: self.isShared)
                }
            }
            group.addTask { await self.removeOrphans() }
        }
        await write()
    }

    /// Writes what was counted since the last time. If this fails, the next call tries again.
    ///
    /// One call follows the other, so that nothing is written twice.
    /// - Parameter readsOthers: whether to read afterwards what other nodes have sent.
    package func write(readsOthers: Bool = false) async {
        let task = writing.withLock { last in
            let before = last
            let task = Task {
                await before?.value
                await writeNow()
                if readsOthers { await readOthers() }
            }
            last = task
            return task
        }
        await task.value
    }

    private func writeNow() async {
        let day = GrantUse.day(of: clock.time)
        let counts = unwritten(on: day)
        guard !counts.isEmpty else { return }
        do throws(StoreError) {
            let totals = try await store.add(counts, on: day)
            let (now, grants) = (clock.time, accounts.current.grants)
            entries.withLock { entries in
                for count in counts {
                    guard let total = totals[count.grant] else { continue }
                    entries[count.grant]?.use.wrote(
                        count.sent, total: total, on: day, grants[count.grant]?.limits, at: now)
                }
            }
        } catch {
            entries.withLock { entries in
                for count in counts { entries[count.grant]?.answers.merge(count.answers, uniquingKeysWith: +) }
            }
        }
    }

    /// Reads what all nodes have sent today. If this fails, the next call tries again.
    private func readOthers() async {
        let day = GrantUse.day(of: clock.time)
        guard let totals = try? await store.sent(on: day) else { return }
        let (now, grants) = (clock.time, accounts.current.grants)
        entries.withLock { entries in
            for (grant, total) in totals where grants[grant] != nil {
                entries[grant, default: Entry(use: GrantUse(day: day))].use.wrote(
                    0, total: total, on: day, grants[grant]?.limits, at: now)
            }
        }
    }

    /// Takes the answers out, and leaves the numbers until the store has them.
    private func unwritten(on day: UInt64) -> [GrantCount] {
        let grants = accounts.current.grants
        return entries.withLock { entries in
            var counts: [GrantCount] = []
            for (grant, entry) in entries {
                // A daily number is of this day only.
                let sent = entry.use.day == day ? entry.use.unwritten : 0
                guard sent > 0 || !entry.answers.isEmpty else { continue }
                counts.append(GrantCount(grant: grant, sent: sent, answers: entry.answers))
                entries[grant]?.answers = [:]
            }
            // A grant that was deleted has no numbers any more.
            for grant in entries.keys where grants[grant] == nil { entries[grant] = nil }
            return counts.filter { grants[$0.grant] != nil }
        }
    }

    /// Runs at the start, because an earlier process may have ended before all were removed, and after each change that
    /// ends a grant.
    private func removeOrphans() async {
        var losses: UInt64?
        for await snapshot in accounts.changes() {
            let isDue = losses != snapshot.grants.losses
            losses = snapshot.grants.losses
            while isDue, !Task.isCancelled {
                do throws(StoreError) {
                    try await removeOrphansNow()
                    break
                } catch {
                    // Nobody can use these handles in any case, so there is time. If the task was cancelled, the sleep
                    // fails and the loop ends.
                    try? await Task.sleep(for: .seconds(60))
                }
            }
        }
    }

    private func removeOrphansNow() async throws(StoreError) {
        var last: Handle?
        repeat {
            let removed = try await store.removeOrphanedHandles(after: last, limit: Self.removedTogether)
            last = removed.count < Self.removedTogether ? nil : removed.last
        } while last != nil && !Task.isCancelled
    }
}
