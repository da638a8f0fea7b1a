import Delivery
import Notifications
import PostgresClient
import PostgresSupport
import Storage
import Synchronization

// Stores notifications in mailboxes: one transaction for a batch.
extension PostgresStore {
    /// Stores entries, those of mailboxes that keep more in another transaction than the rest. Rows that another transaction
    /// holds are left out of it, and then waited for, but not for long: usually another node's transaction ends within
    /// milliseconds, and the rest of the batch must not wait for one that does not.
    func store(
        _ entries: [TimedEntry],
        on connection: PostgresConnection,
    ) async -> [Result<MailboxVersion, StoreError>] {
        let keeping = current.keeping
        func keepsMore(_ item: TimedEntry) -> Bool {
            let destination = item.entry.destination
            return destination.isSubscription || !keeping.isEmpty && keeping[destination.app] != nil
        }
        let kept = entries.filter(keepsMore)
        if !keeping.isEmpty || !kept.isEmpty { noteKept() }
        let others = kept.isEmpty ? entries : entries.filter { !keepsMore($0) }
        var outcomes = await store(EntryChain.chains(of: others), keepsMore: false, on: connection)
        outcomes.merge(await store(EntryChain.singles(of: kept), keepsMore: true, on: connection)) { $1 }
        return entries.map {
            outcomes[$0.position] ?? .failure(StoreError(.unknown, "PostgreSQL did not answer."))
        }
    }

    private func store(
        _ chains: [EntryChain],
        keepsMore: Bool,
        on connection: PostgresConnection,
    ) async -> StoringOutcomes {
        guard !chains.isEmpty else { return [:] }
        var outcomes = await write(chains, keepsMore: keepsMore, waits: false, on: connection)
        let locked = chains.filter { outcomes[$0.last.position] == .failure(.rowLocked) }
        if !locked.isEmpty {
            outcomes.merge(await write(locked, keepsMore: keepsMore, waits: true, on: connection)) { $1 }
        }
        for chain in chains {
            if let outcome = outcomes[chain.last.position] { outcomes.merge(chain.outcomes(outcome)) { $1 } }
        }
        return outcomes
    }

    /// How long a batch waits for rows that another transaction holds. Longer than a transaction takes that does not wait
    /// itself.
    private static let lockTimeout = PostgresStatement("SELECT set_config('lock_timeout', '100ms', true)")

    /// Writes the last entry of each chain.
    /// - Parameter waits: whether to wait for rows that another transaction holds.
    /// - Returns: what became of the last entry of each chain.
    private func write(
        _ unmeasured: [EntryChain],
        keepsMore: Bool,
        waits: Bool,
        on connection: PostgresConnection,
    ) async -> StoringOutcomes {
        let (chains, changes) = clock.withLock { clock in
            (unmeasured.map { $0.measured(by: clock) }, clock.changes)
        }
        let rows: PostgresRows
        do throws(StoreError) {
            let statements = [
                keepsMore ? keeping(chains, waits: waits) : storing(chains, waits: waits),
                announcing(keepsMore ? Array(Set(chains.map(\.destination.ofApp))) : chains.map(\.destination)),
            ]
            let answers = try await executeMeasured((waits ? [Self.lockTimeout] : []) + statements, on: connection)
            rows = answers[answers.count - 2]
            recordWhereabouts(answers[answers.count - 1])
            confirmationError.withLock { $0 = nil }
        } catch {
            if error == .postgresDiskFull { lastDiskFull.withLock { $0 = .now } }
            if error.code == .unknown { confirmationError.withLock { $0 = error } }
            return Dictionary(uniqueKeysWithValues: chains.map { ($0.last.position, .failure(error)) })
        }
        var outcomes = keepsMore ? readKept(rows, of: chains) : readNewest(rows, of: chains)
        let missing = chains.filter { outcomes[$0.last.position] == nil }
        let failures = await failures(of: Array(Set(missing.map(\.destination))))
        for chain in missing { outcomes[chain.last.position] = failures[chain.destination] }
        // The clock was set, so what was measured before was wrong when it said that these came late.
        let doubtful = chains.filter { $0.moment != nil && outcomes[$0.last.position] == .failure(.overtaken) }
        if !doubtful.isEmpty, clock.withLock(\.changes) != changes {
            outcomes.merge(await write(doubtful, keepsMore: keepsMore, waits: waits, on: connection)) { $1 }
        }
        return outcomes
    }

    /// Reads the answer to ``storing(_:waits:)``, and records what was replaced. The answer has no row for a destination that
    /// has none in the table, or whose row another transaction holds.
    private func readNewest(_ rows: PostgresRows, of chains: [EntryChain]) -> StoringOutcomes {
        var outcomes: StoringOutcomes = [:]
        var ended: [EndedNotification] = []
        for row in rows.map(\.self) {
            guard let chain = row.item(of: chains) else { continue }
            let outcome = outcome(of: row, from: 1) { MailboxVersion(rawValue: $0) }
            outcomes[chain.last.position] = outcome
            if case .success = outcome { ended += chain.replaced(row) }
        }
        journal.record(ended)
        return outcomes
    }

    /// What became of an entry, from a row with whether its registration is active, when it changed, and the entry's version; that is
    /// NULL if it was overtaken.
    func outcome(
        of row: PostgresRow,
        from first: Int,
        _ version: (UInt64) -> MailboxVersion,
    ) -> Result<MailboxVersion, StoreError> {
        guard row.bool(first) == true else { return .failure(.ended(at: row.moment(first + 1) ?? journal.now)) }
        guard let number = row.integer(first + 2).flatMap(UInt64.init(exactly:)) else { return .failure(.overtaken) }
        return .success(version(number))
    }

    /// Returns why nothing was stored for destinations that the statement did not return: they have no row, or another
    /// transaction holds it.
    private func failures(of missing: [Destination]) async -> [Destination: Result<MailboxVersion, StoreError>] {
        guard !missing.isEmpty else { return [:] }
        let found: [Registration?]
        do throws(StoreError) {
            found = try await lookUp(missing.map(\.ofApp))
        } catch {
            return Dictionary(uniqueKeysWithValues: missing.map { ($0, .failure(error)) })
        }
        return Dictionary(
            uniqueKeysWithValues: zip(missing, found).map { destination, registration in
                guard let registration else { return (destination, .failure(.ended(at: journal.now))) }
                return (destination, .failure(registration.isActive ? .rowLocked : .ended(at: registration.changed)))
            })
    }

    /// The statement that stores the last entry of each chain. It first locks each destination's row, in the order that all
    /// transactions use, and leaves out those that another transaction holds: otherwise one locked row would delay the
    /// whole batch. A mailbox uses up a version for each entry of its chain.
    ///
    /// Two kinds of entries leave a mailbox as it is that holds another notification:
    /// - One that is stored for the first time, if the other was stored later than this one was accepted. Mailboxes' versions
    ///   are times of PostgreSQL's clock, and the node knows when it accepted the entry by that clock (``DatabaseClock``).
    ///   This counts only on the server that the node has measured. A version that is still to come is of another clock.
    /// - One that may have been stored before, if the other may have been stored since. PostgreSQL's present time minus the
    ///   age says since when. The node measured the age by a clock that nobody sets.
    ///
    /// So neither depends on a node's time of day.
    ///
    /// Nothing here joins two lists of the batch. PostgreSQL does not know how long an array is when it plans a prepared
    /// statement, and would compare each row of the one list with each row of the other.
    /// - Parameter waits: whether to wait for rows that another transaction holds.
    private func storing(_ chains: [EntryChain], waits: Bool) -> PostgresStatement {
        PostgresStatement(
            assembled: waits ? Self.waitingSQL : Self.skippingSQL,
            Self.columns(of: chains, margin: ageMargin).values + [.integer(chains.server)])
    }

    private static func columns(of chains: [EntryChain], margin: Duration) -> [BoundColumn] {
        chains.map(\.destination).columns + MailboxColumns.columns(of: chains.map(\.last.entry)) + [
            BoundColumn("count", .integers(chains.map { Int64(clamping: $0.entries.count) }))
        ] + chains.timeColumns(margin: margin)
    }

    private static let waitingSQL = storingSQL(locking: "FOR NO KEY UPDATE OF d")
    private static let skippingSQL = storingSQL(locking: "FOR NO KEY UPDATE OF d SKIP LOCKED")

    private static func storingSQL(locking: String) -> String {
        let item = columns(of: [], margin: .zero)
        return """
            WITH held AS (
                SELECT
                    item.*, d.active, d.changed, d.id AS old_id, d.topic AS old_topic, d.collapse_id AS old_collapse_id,
                    coalesce(
                        d.expires IS NOT NULL AND d.id <> item.id AND (
                            d.version > \(serverTime) - item.age
                            OR d.version > item.accepted AND d.version <= \(serverTime)
                                AND \(isServer(item.count + 1))),
                        false) AS is_overtaken
                FROM unnest(\(item.parameters())) WITH ORDINALITY AS item (\(item.names), place)
                JOIN carillon.destination AS d
                    ON d.device = item.device AND d.environment = item.environment AND d.app = item.app
                ORDER BY d.device, d.environment, d.app
                \(locking)
            ), stored AS (
                UPDATE carillon.destination AS d SET
                    version = greatest(d.version + held.count, \(serverTime)),
                    sweep = least(d.sweep, held.expires), \(MailboxColumns.filling(from: "held"))
                FROM held
                WHERE d.device = held.device AND d.environment = held.environment AND d.app = held.app
                    AND held.active AND NOT held.is_overtaken
                RETURNING
                    held.place, held.active, held.changed, d.version, held.old_id, held.old_topic, held.old_collapse_id
            )
            SELECT * FROM stored
            UNION ALL
            SELECT place, active, changed, NULL, NULL, NULL, NULL FROM held WHERE NOT active OR is_overtaken
            """
    }

    /// By how much the age of an entry is increased: the clocks may differ, and the entry becomes older on its way.
    var ageMargin: Duration { PostgresServerCheck.maximumClockDifference + configuration.limits.timeLimit }
}

extension [EntryChain] {
    /// The columns `age` and `accepted`. What has a time of acceptance is not compared by its age, which has a large margin.
    func timeColumns(margin: Duration) -> [BoundColumn] {
        let ages = map { chain in
            chain.moment == nil
                ? chain.last.entry.age.map { Int64(clamping: ($0 + margin).attoseconds / 1_000_000_000_000) } : nil
        }
        return [
            BoundColumn("age", .integers(ages)), BoundColumn("accepted", .integers(map { $0.moment?.time })),
        ]
    }

    /// The server by whose clock the times of acceptance are; nil if there is none.
    var server: Int64? { lazy.compactMap(\.moment).first?.server }
}
