import Delivery
import Notifications
import PostgresClient
import PostgresSupport
import Storage
import Synchronization

// Stores notifications in mailboxes: one transaction for a batch.
extension PostgresStore {
    /// Stores entries in one transaction. Rows that another transaction holds are left out of it, and then waited for, but
    /// not for long: usually another node's transaction ends within milliseconds, and the rest of the batch must not wait
    /// for one that does not.
    func store(
        _ entries: [TimedEntry],
        on connection: PostgresConnection,
    ) async -> [Result<MailboxVersion, StoreError>] {
        let keeping = current.keeping
        func keepsMore(_ destination: Destination) -> Bool {
            destination.isSubscription || !keeping.isEmpty && keeping[destination.app] != nil
        }
        let kept = entries.indices.filter { keepsMore(entries[$0].entry.destination) }
        guard !keeping.isEmpty || !kept.isEmpty else { return await storeNewest(entries, on: connection) }
        noteKept()
        // Each kind in its order.
        let others = entries.indices.filter { !keepsMore(entries[$0].entry.destination) }
        var results = [Result<MailboxVersion, StoreError>](
            repeating: .failure(StoreError(.unknown, "PostgreSQL did not answer.")), count: entries.count)
        if !others.isEmpty {
            let stored = await storeNewest(others.map { entries[$0] }, on: connection)
            for (index, result) in zip(others, stored) { results[index] = result }
        }
        if !kept.isEmpty {
            let stored = await storeKept(kept.map { entries[$0] }, on: connection)
            for (index, result) in zip(kept, stored) { results[index] = result }
        }
        return results
    }

    private func storeNewest(
        _ entries: [TimedEntry],
        on connection: PostgresConnection,
    ) async -> [Result<MailboxVersion, StoreError>] {
        let chains = EntryChain.chains(of: entries)
        var outcomes = await write(chains, waits: false, on: connection)
        let locked = chains.filter { outcomes[$0.destination] == .failure(.rowLocked) }
        if !locked.isEmpty { outcomes.merge(await write(locked, waits: true, on: connection)) { $1 } }
        return EntryChain.results(of: entries, chains, outcomes)
    }

    /// How long a batch waits for rows that another transaction holds. Longer than a transaction takes that does not wait
    /// itself.
    static let lockTimeout = PostgresStatement("SELECT set_config('lock_timeout', '100ms', true)")

    /// Writes the last entry of each chain.
    /// - Parameter waits: whether to wait for rows that another transaction holds.
    /// - Returns: For each destination, the version of the last entry, or why nothing was stored.
    private func write(
        _ chains: [EntryChain],
        waits: Bool,
        on connection: PostgresConnection,
    ) async -> [Destination: Result<MailboxVersion, StoreError>] {
        let storing = storing(chains, waits: waits)
        let rows: PostgresRows
        do throws(StoreError) {
            let statements = [storing.statement, announcing(chains.map(\.destination))]
            let answers = try await executeMeasured((waits ? [Self.lockTimeout] : []) + statements, on: connection)
            rows = answers[answers.count - 2]
            recordWhereabouts(answers[answers.count - 1])
            confirmationError.withLock { $0 = nil }
        } catch {
            if error == .postgresDiskFull { lastDiskFull.withLock { $0 = .now } }
            if error.code == .unknown { confirmationError.withLock { $0 = error } }
            return Dictionary(uniqueKeysWithValues: chains.map { ($0.destination, .failure(error)) })
        }
        var outcomes = readOutcomes(rows, of: chains)
        let missing = chains.map(\.destination).filter { outcomes[$0] == nil }
        outcomes.merge(await failures(of: missing)) { $1 }
        // The clock was set, so what was measured before was wrong when it said that these came late.
        let doubtful = chains.filter {
            outcomes[$0.destination] == .failure(.overtaken) && storing.timed.contains($0.destination)
        }
        if !doubtful.isEmpty, clock.withLock(\.changes) != storing.changes {
            outcomes.merge(await write(doubtful, waits: waits, on: connection)) { $1 }
        }
        return outcomes
    }

    /// Reads the answer to ``storing(_:waits:)``, and records what was replaced. The answer has no row for a destination that
    /// has none in the table, or whose row another transaction holds.
    private func readOutcomes(
        _ rows: PostgresRows,
        of chains: [EntryChain],
    ) -> [Destination: Result<MailboxVersion, StoreError>] {
        var outcomes: [Destination: Result<MailboxVersion, StoreError>] = [:]
        var ended: [EndedNotification] = []
        for row in rows.map(\.self) {
            guard let place = row.integer(0).map({ Int(clamping: $0 - 1) }), chains.indices.contains(place) else {
                continue
            }
            let chain = chains[place]
            outcomes[chain.destination] =
                if row.bool(1) != true {
                    .failure(.ended(at: row.moment(2) ?? journal.now))
                } else if let version = row.integer(3).flatMap(UInt64.init(exactly:)) {
                    .success(MailboxVersion(rawValue: version))
                } else {
                    .failure(.overtaken)
                }
            if case .success = outcomes[chain.destination] { ended += chain.replaced(row) }
        }
        journal.record(ended)
        return outcomes
    }

    /// Returns why nothing was stored for destinations that the statement did not return: they have no row, or another
    /// transaction holds it.
    func failures(of missing: [Destination]) async -> [Destination: Result<MailboxVersion, StoreError>] {
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
    /// - Returns: Also the destinations whose entries have a time of acceptance in it, and ``DatabaseClock/changes``.
    private func storing(
        _ chains: [EntryChain],
        waits: Bool,
    ) -> (statement: PostgresStatement, timed: Set<Destination>, changes: Int) {
        let (moments, changes) = clock.withLock { clock in
            (chains.map { $0.last.accepted.flatMap(clock.latest(at:)) }, clock.changes)
        }
        let statement = PostgresStatement(
            assembled: waits ? Self.waitingSQL : Self.skippingSQL,
            Self.columns(of: chains, moments, margin: ageMargin).values + [
                .integer(moments.lazy.compactMap(\.self).first?.server)
            ])
        let timed = zip(chains, moments).filter { $1 != nil }.map(\.0.destination)
        return (statement, Set(timed), changes)
    }

    private static func columns(
        of chains: [EntryChain],
        _ moments: [DatabaseClock.Moment?],
        margin: Duration,
    ) -> [BoundColumn] {
        let entries = chains.map(\.last.entry)
        // What has a time of acceptance is not compared by its age, which has a large margin.
        let ages = zip(entries, moments).map { entry, moment in
            moment == nil ? entry.age.map { Int64(clamping: ($0 + margin).attoseconds / 1_000_000_000_000) } : nil
        }
        return entries.map(\.destination).columns + MailboxColumns.columns(of: entries) + [
            BoundColumn("count", .integers(chains.map { Int64(clamping: $0.entries.count) })),
            BoundColumn("age", .integers(ages)),
            BoundColumn("accepted", .integers(moments.map { $0?.time })),
        ]
    }

    private static let waitingSQL = storingSQL(locking: "FOR NO KEY UPDATE OF d")
    private static let skippingSQL = storingSQL(locking: "FOR NO KEY UPDATE OF d SKIP LOCKED")

    private static func storingSQL(locking: String) -> String {
        let item = columns(of: [], [], margin: .zero)
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

    /// The largest difference between the clocks of two machines that are PostgreSQL's primary one after the other. A
    /// node does not start if its own clock and PostgreSQL's differ by more.
    static let maximumClockDifference = Duration.seconds(10)

    /// By how much the age of an entry is increased: the clocks may differ, and the entry becomes older on its way.
    var ageMargin: Duration { Self.maximumClockDifference + configuration.limits.timeLimit }
}
