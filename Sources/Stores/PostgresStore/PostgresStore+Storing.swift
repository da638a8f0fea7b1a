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
        _ entries: [MailboxEntry],
        on connection: PostgresConnection,
    ) async -> [Result<MailboxVersion, StoreError>] {
        var results = await store(entries, on: connection, waits: false)
        let locked = results.indices.filter { results[$0] == .failure(.rowLocked) }
        guard !locked.isEmpty else { return results }
        let again = await store(locked.map { entries[$0] }, on: connection, waits: true)
        for (index, result) in zip(locked, again) { results[index] = result }
        return results
    }

    /// How long a batch waits for rows that another transaction holds. Longer than a transaction takes that does not wait
    /// itself.
    private static let lockTimeout = PostgresStatement("SELECT set_config('lock_timeout', '100ms', true)")

    /// - Parameter waits: whether to wait for rows that another transaction holds.
    private func store(
        _ entries: [MailboxEntry],
        on connection: PostgresConnection,
        waits: Bool,
    ) async -> [Result<MailboxVersion, StoreError>] {
        // For each destination, the indices of its entries. Only the last of them is written.
        var chains: [Destination: [Int]] = [:]
        for (index, entry) in entries.enumerated() { chains[entry.destination, default: []].append(index) }
        let destinations = chains.keys.sorted(by: Destination.isOrderedInTable)
        let written = destinations.map { destination in
            let indices = chains[destination] ?? []
            return (entry: entries[indices.last ?? 0], count: indices.count)
        }
        let rows: PostgresRows
        do throws(StoreError) {
            let statements = [Self.storing(written, margin: ageMargin, waits: waits), announcing(destinations)]
            let answers = try await Self.execute((waits ? [Self.lockTimeout] : []) + statements, on: connection)
            guard answers.count >= 2 else { throw StoreError(.unknown, "PostgreSQL did not answer.") }
            rows = answers[answers.count - 2]
            recordWhereabouts(answers[answers.count - 1])
            unconfirmed.withLock { $0 = nil }
        } catch {
            if error == .postgresDiskFull { full.withLock { $0 = .now } }
            if error.code == .unknown { unconfirmed.withLock { $0 = error } }
            return entries.map { _ in .failure(error) }
        }
        let now = journal.now
        var results = [Result<MailboxVersion, StoreError>](
            repeating: .failure(.ended(at: now)), count: entries.count)
        var ended: [EndedNotification] = []
        var missing = Set(destinations)
        for index in 0..<rows.count {
            let row = rows[index]
            guard let place = row.integer(0), written.indices.contains(Int(place) - 1),
                let indices = chains[destinations[Int(place) - 1]]
            else { continue }
            missing.remove(destinations[Int(place) - 1])
            guard row.bool(1) == true, let version = row.integer(3).flatMap(UInt64.init(exactly:)) else {
                let failure: StoreError = row.bool(1) == true ? .overtaken : .ended(at: row.moment(2) ?? now)
                for index in indices { results[index] = .failure(failure) }
                continue
            }
            for (number, index) in indices.enumerated() {
                results[index] = .success(
                    MailboxVersion(rawValue: version - UInt64(indices.count - 1 - number)))
            }
            ended += Self.replaced(row, by: indices.map { entries[$0] })
        }
        journal.record(ended)
        for (destination, failure) in await failures(of: Array(missing), now: now) {
            for index in chains[destination] ?? [] { results[index] = .failure(failure) }
        }
        return results
    }

    /// Returns why nothing was stored for destinations that the statement did not return: they have no row, or another
    /// transaction holds it.
    private func failures(of missing: [Destination], now: Timestamp) async -> [(Destination, StoreError)] {
        guard !missing.isEmpty else { return [] }
        let found: [Registration?]
        do throws(StoreError) {
            found = try await lookUp(missing)
        } catch {
            return missing.map { ($0, error) }
        }
        return zip(missing, found).map { destination, registration in
            guard let registration else { return (destination, .ended(at: now)) }
            return (destination, registration.isActive ? .rowLocked : .ended(at: registration.changed))
        }
    }

    /// The statements that store entries. They first lock each destination's row, in the order that all transactions
    /// use, and leave out those that another transaction holds: otherwise one locked row would delay the whole batch. A
    /// mailbox uses up `count` versions, one for each of its entries in the batch, although only the last entry is
    /// written.
    ///
    /// An entry with an age leaves a mailbox as it is that may hold something newer. Both times are of PostgreSQL's own
    /// clock, and the age was measured by a clock that nobody sets. So this depends on no node's time of day.
    ///
    /// Nothing here joins two lists of the batch. PostgreSQL does not know how long an array is when it plans a prepared
    /// statement, and would compare each row of the one list with each row of the other.
    /// - Parameters:
    ///   - margin: by how much ages are increased.
    ///   - waits: whether to wait for rows that another transaction holds.
    private static func storing(
        _ written: [(entry: MailboxEntry, count: Int)],
        margin: Duration,
        waits: Bool,
    ) -> PostgresStatement {
        PostgresStatement(
            assembled: waits ? waitingSQL : skippingSQL, columns(of: written, margin: margin).values)
    }

    private static func columns(
        of written: [(entry: MailboxEntry, count: Int)],
        margin: Duration,
    ) -> [BoundColumn] {
        written.map(\.entry.destination).columns + MailboxColumns.columns(of: written.map { $0.entry }) + [
            BoundColumn("count", .integers(written.map { Int64(clamping: $0.count) })),
            BoundColumn(
                "age",
                .integers(
                    written.map { item in
                        item.entry.age.map { Int64(clamping: ($0 + margin).attoseconds / 1_000_000_000_000) }
                    })),
        ]
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
                        d.expires IS NOT NULL AND d.id <> item.id
                        AND d.version > (extract(epoch FROM clock_timestamp()) * 1000000)::bigint - item.age,
                        false) AS is_overtaken
                FROM unnest(\(item.parameters())) WITH ORDINALITY AS item (\(item.names), place)
                JOIN carillon.destination AS d
                    ON d.device = item.device AND d.environment = item.environment AND d.app = item.app
                ORDER BY d.device, d.environment, d.app
                \(locking)
            ), stored AS (
                UPDATE carillon.destination AS d SET
                    version = greatest(
                        d.version + held.count, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint),
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
    private var ageMargin: Duration { Self.maximumClockDifference + configuration.limits.timeLimit }

    /// Returns what was replaced: the first entry replaced the mailbox's contents, and each further entry replaced
    /// the one before.
    private static func replaced(_ row: PostgresRow, by entries: [MailboxEntry]) -> [EndedNotification] {
        guard let first = entries.first else { return [] }
        var ended: [EndedNotification] = []
        if let id = row.bytes(4).flatMap(NotificationID.init(column:)), id != first.notification.id {
            let isCoalesced = first.notification.collapseID.map { Array($0.rawValue.utf8) == row.bytes(6) } ?? false
            ended.append(
                EndedNotification(
                    id: id, destination: first.destination, topic: row.text(5) ?? "",
                    step: isCoalesced
                        ? .coalesced(into: first.notification.id) : .replaced(by: first.notification.id)))
        }
        for (older, newer) in zip(entries, entries.dropFirst()) where older.notification.id != newer.notification.id {
            let stored = StoredMailboxEntry(entry: older, version: MailboxVersion(rawValue: 0))
            ended.append(EndedNotification(stored, older.notification.step(onReplacementBy: newer.notification)))
        }
        return ended
    }
}
