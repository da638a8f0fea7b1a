import AccountTables
package import Delivery
import Notifications
import PostgresClient
import PostgresSupport
package import Storage
import Synchronization

extension PostgresStore: Accounts {
    package var current: AccountsSnapshot { accounts.current }

    package var isCurrent: Bool {
        lease.withLock { $0.refusal == nil }
            && lastHeard.withLock { $0 }.duration(to: .now) < configuration.maximumSilence
    }

    package func changes() -> AsyncStream<AccountsSnapshot> { accounts.changes() }

    package func apply(_ change: AccountChange, to version: UInt64?) async throws(StoreError) -> AccountsSnapshot {
        let known = accounts.current
        let application: Application
        do throws(PostgresError) {
            application = try await control.transaction { transaction throws(PostgresError) in
                try Self.apply(change, to: version, known, transaction)
            }
        } catch {
            throw error.storeError
        }
        switch application {
        case .applied(let next):
            publish(next)
            // If another node's later change was read first, the accounts here are newer already.
            return next
        case .refused(let error): throw error
        }
    }

    private static func apply(
        _ change: AccountChange,
        to version: UInt64?,
        _ known: AccountsSnapshot,
        _ transaction: PostgresTransaction,
    ) throws(PostgresError) -> Application {
        let row = try transaction.execute("SELECT version, last_app FROM carillon.accounts WHERE is_only FOR UPDATE")
            .first
        guard let row, let present = row.integer(0).flatMap(UInt64.init(exactly:)), let last = row.integer(1),
            // One more than the greatest number is negative, which is no app.
            let appID = AppID(column: last &+ 1)
        else { throw .damaged("accounts") }
        guard version == nil || version == present else { return .refused(.accountsHaveChanged) }
        let snapshot = known.version == present ? known : try AccountRows.load(transaction)
        let decision = Result { () throws(StoreError) in try snapshot.applying(change, nextAppID: appID) }
        switch decision {
        case .failure(let error): return .refused(error)
        case .success(nil): return .applied(snapshot)
        case .success(let next?):
            try AccountRows.write(change, from: snapshot, to: next, appID: appID, transaction)
            try transaction.execute(
                "UPDATE carillon.accounts SET version = $1", [.integer(Int64(clamping: next.version))])
            return .applied(next)
        }
    }

    private enum Application: Sendable {
        case applied(AccountsSnapshot)
        case refused(StoreError)
    }

    private func publish(_ next: AccountsSnapshot) {
        accounts.update { $0.version < next.version ? next : nil }
    }

    // MARK: Other nodes' changes

    func startPolling() {
        let interval = configuration.pollInterval
        let task = Task { [weak self] in
            while !Task.isCancelled {
                // `sleep` only throws when the task is cancelled, and then the loop ends.
                try? await Task.sleep(for: interval)
                guard let self, !Task.isCancelled else { return }
                await self.poll()
            }
        }
        polling.withLock { $0 = task }
    }

    /// Reads changes of the accounts and new secrets. If this fails, the next poll tries again, and ``isCurrent`` is
    /// false once the last success is too long ago.
    func poll() async {
        let start = ContinuousClock.now
        do throws(PostgresError) {
            try await renewLease()
            // A page at each poll, so that a large node does not delay the lease and the accounts.
            if isTimeToSweep(), try await removeGoneNodes() { lastSweep.withLock { $0 -= Self.sweepInterval } }
            let version = try await reader.execute("SELECT version FROM carillon.accounts").first?.integer(0)
            guard let version, let present = UInt64(exactly: version) else { return }
            if present > accounts.current.version {
                publish(
                    try await reader.transaction { transaction throws(PostgresError) in
                        try transaction.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
                        return try AccountRows.load(transaction)
                    })
            }
        } catch {
            return
        }
        guard (try? await sealed.findNew()) != nil else { return }
        lastHeard.withLock { $0 = max($0, start) }
    }

    /// How often a node looks for lost nodes, unless it has just found more than a page.
    private static let sweepInterval = Duration.seconds(60)

    /// Whether it is time to look for lost nodes again.
    private func isTimeToSweep() -> Bool {
        lastSweep.withLock { last in
            guard last.duration(to: .now) >= Self.sweepInterval else { return false }
            last = .now
            return true
        }
    }
}
