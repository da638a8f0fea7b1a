package import Delivery
package import Notifications
import PostgresClient
import PostgresSupport
package import Storage
import Synchronization

extension PostgresStore: Mailboxes {
    /// How many notifications one statement stores. This is enough for the server's best rate, and few enough that a
    /// statement stays below 3 MB and holds its locks only briefly.
    static let maximumBatch = 500

    /// How many notifications are worth a transaction of their own. A transaction has a cost of its own, so fewer than
    /// twice as many go to one writer.
    static let worthATransaction = 100

    package var isShared: Bool { true }

    package func store(_ entries: [MailboxEntry]) async -> [Result<MailboxVersion, StoreError>] {
        let now = ContinuousClock.now
        let items = entries.enumerated().map { TimedEntry($1, at: TimedEntry.Position($0), now: now) }
        return await divided(items, by: \.entry.destination.deviceKey) {
            connection, part in
            await self.store(part, on: connection)
        }
    }

    package func remove(_ references: [MailboxReference]) async -> [Result<MailboxRemoval, StoreError>] {
        let mayHaveKept = mayHaveKept || references.contains { $0.version.isKept }
        return await divided(references, by: \.destination.deviceKey) { connection, part in
            guard mayHaveKept else { return await Self.remove(part, on: connection) }
            return await self.removeEither(part, on: connection)
        }
    }

    package func entries(of device: DeviceKey) async throws(StoreError) -> [StoredMailboxEntry] {
        try await entriesOfAllPages(of: device)
    }

    /// Reads the mailboxes of a device that keep only the newest, after waiting for the transactions that are storing something for it. Such a
    /// transaction may have looked up the device's node before this node took the device. It holds the locks of the
    /// rows until its commit. The rows are locked in the order that all transactions use.
    ///
    /// A last row says that another node may have stored messages of Web Push.
    func newestEntries(of device: DeviceKey) async throws(StoreError) -> [StoredMailboxEntry] {
        let rows = try await read(PostgresStatement(assembled: Self.entriesSQL, device.values))
        var entries: [StoredMailboxEntry] = []
        for row in rows.map(\.self) {
            guard !row.isNull(0) else {
                noteKept()
                continue
            }
            guard let entry = row.mailboxEntry(of: device) else {
                throw PostgresError.damaged("a mailbox of device \(device.device)").storeError
            }
            entries.append(entry)
        }
        return entries
    }

    private static let entriesSQL = """
        WITH held AS (
            SELECT \(MailboxColumns.reading(from: "d")) FROM carillon.destination AS d
            WHERE d.device = $1 AND d.environment = $2 ORDER BY d.app FOR SHARE
        )
        SELECT * FROM held WHERE expires IS NOT NULL
        UNION ALL
        SELECT \(MailboxColumns.nulls) WHERE EXISTS (SELECT FROM carillon.web_push_subscription)
        ORDER BY version, app
        """

    /// In one statement, which waits for no lock. Whoever reads after an announcement finds what was announced, because
    /// both were committed together.
    package func contents(of destinations: [Destination]) async -> [Result<[StoredMailboxEntry], StoreError>] {
        let rows: PostgresRows
        var kept: [Destination: [StoredMailboxEntry]]
        do throws(StoreError) {
            let mayHaveKept = mayHaveKept
            kept = try await keptContents(of: destinations)
            rows = try await read(PostgresStatement(assembled: Self.contentsSQL, destinations.values))
            if !mayHaveKept, rows.map({ $0.integer(0) == 0 }).contains(true) {
                noteKept()
                kept = try await keptContents(of: destinations)
            }
        } catch {
            return destinations.map { _ in .failure(error) }
        }
        var newest: [Destination: Result<StoredMailboxEntry, StoreError>] = [:]
        for row in rows.map(\.self) {
            guard let destination = row.item(of: destinations) else { continue }
            let device = destination.deviceKey
            newest[destination] =
                row.mailboxEntry(of: device, from: 1).map { .success($0) }
                ?? .failure(PostgresError.damaged("a mailbox of device \(device.device)").storeError)
        }
        return destinations.map { destination in
            let others = kept[destination] ?? []
            return newest[destination]?.map { [$0] + others } ?? .success(others)
        }
    }

    private static let contentsSQL = """
        SELECT item.place, \(MailboxColumns.reading(from: "d"))
        FROM unnest($1::bigint[], $2::bigint[], $3::bigint[]) WITH ORDINALITY
            AS item (device, environment, app, place)
        JOIN carillon.destination AS d
            ON d.device = item.device AND d.environment = item.environment AND d.app = item.app
        WHERE d.expires IS NOT NULL
        UNION ALL
        SELECT 0, \(MailboxColumns.nulls) WHERE EXISTS (SELECT FROM carillon.web_push_subscription)
        """

    package func removeExpired(before moment: Timestamp, limit: Int) async throws(StoreError) -> Int {
        var removed = 0
        while removed < limit {
            let sweep = try await sweep(before: moment, limit: limit, removing: limit - removed)
            removed += sweep.removed
            // Mailboxes that were emptied or filled again since are looked at too, but not again before they expire. So
            // this ends.
            guard sweep.count == limit else { break }
        }
        if mayHaveKept, removed < limit {
            removed += try await removeExpiredKept(before: moment, limit: limit - removed)
        }
        return removed
    }

    /// Looks at mailboxes that may have expired. Those that have not are looked at again when they do.
    /// - Parameters:
    ///   - limit: how many to look at. This is the same in each step, because most may not have expired.
    ///   - maximum: how many of them to empty.
    /// - Returns: The number of mailboxes looked at, and of those the number of expired ones, which are now empty.
    private func sweep(
        before moment: Timestamp,
        limit: Int,
        removing maximum: Int,
    ) async throws(StoreError) -> (count: Int, removed: Int) {
        let answers = try await Self.execute(
            [
                PostgresStatement(
                    assembled: """
                        WITH due AS (
                            SELECT device, environment, app, expires, id, topic FROM carillon.destination
                            WHERE sweep < $1 ORDER BY sweep LIMIT $2 FOR NO KEY UPDATE SKIP LOCKED
                        ), gone AS (
                            SELECT * FROM due WHERE expires < $1 LIMIT $3
                        ), later AS (
                            UPDATE carillon.destination AS d SET sweep = due.expires
                            FROM due
                            WHERE d.device = due.device AND d.environment = due.environment AND d.app = due.app
                                AND coalesce(due.expires >= $1, true)
                        ), emptied AS (
                            UPDATE carillon.destination AS d SET sweep = NULL, \(MailboxColumns.emptying)
                            FROM gone
                            WHERE d.device = gone.device AND d.environment = gone.environment AND d.app = gone.app
                        )
                        SELECT device, environment, app, id, topic, true FROM gone
                        UNION ALL
                        SELECT device, environment, app, NULL, NULL, false FROM due WHERE coalesce(expires >= $1, true)
                        """,
                    [
                        .integer(moment.column), .integer(Int64(clamping: limit)), .integer(Int64(clamping: maximum)),
                    ])
            ], on: writers[0])
        guard let due = answers.first else { return (0, 0) }
        let gone = due.map { $0 }.filter { $0.bool(5) == true }
        journal.record(gone.compactMap { $0.endedNotification(.expired) })
        return (due.count, gone.count)
    }

    // MARK: Batches

    /// Divides items into batches for the writers, and returns the results in the order of the items.
    private func divided<Item: Sendable, Value: Sendable>(
        _ items: [Item],
        by device: (Item) -> DeviceKey,
        _ body: @escaping @Sendable (PostgresConnection, [Item]) async -> [Result<Value, StoreError>],
    ) async -> [Result<Value, StoreError>] {
        let count = min(writers.count, max(1, items.count / Self.worthATransaction))
        var parts: [Int: [Int]] = [:]
        for index in items.indices {
            // fits: a number of connections
            let writer = Int(truncatingIfNeeded: device(items[index]).device.rawValue % UInt64(count))
            parts[writer, default: []].append(index)
        }
        if items.count <= Self.maximumBatch, parts.count == 1, let writer = parts.keys.first {
            return await body(writers[writer], items)
        }
        return await withTaskGroup(of: [(Int, Result<Value, StoreError>)].self) { group in
            for (writer, indices) in parts {
                let connection = writers[writer]
                group.addTask {
                    var results: [(Int, Result<Value, StoreError>)] = []
                    var rest = indices[...]
                    // Store the batches one after the other, so that the last notification for a destination is
                    // stored last.
                    while !rest.isEmpty {
                        let batch = rest.prefix(Self.maximumBatch)
                        rest = rest.dropFirst(Self.maximumBatch)
                        results += zip(batch, await body(connection, batch.map { items[$0] }))
                    }
                    return results
                }
            }
            var results = [Result<Value, StoreError>](
                repeating: .failure(StoreError(.unknown, "PostgreSQL did not answer.")), count: items.count)
            for await part in group { for (index, result) in part { results[index] = result } }
            return results
        }
    }

    static func remove(
        _ references: [MailboxReference],
        on connection: PostgresConnection,
    ) async -> [Result<MailboxRemoval, StoreError>] {
        // Remove each reference only once, because a second removal of the same would find nothing.
        var places: [MailboxReference: Int] = [:]
        for (index, reference) in references.enumerated() where places[reference] == nil { places[reference] = index }
        let unique = places.keys.sorted { Destination.isOrderedInTable($0.destination, $1.destination) }
        do throws(StoreError) {
            let answers = try await execute(
                [
                    PostgresStatement(
                        assembled: removingSQL,
                        unique.map(\.destination).values + [
                            .integers(unique.map { Int64(clamping: $0.version.number) })
                        ])
                ], on: connection)
            var results = [Result<MailboxRemoval, StoreError>](
                repeating: .success(.superseded), count: references.count)
            guard let rows = answers.first else { return results }
            for index in 0..<rows.count {
                // fits: an ordinal that the statement made
                guard let place = rows[index].integer(0), unique.indices.contains(Int(place) - 1),
                    let item = places[unique[Int(place) - 1]]  // fits: an ordinal that the statement made
                else { continue }
                results[item] = .success(.removed)
            }
            return results
        } catch {
            return references.map { _ in .failure(error) }
        }
    }

    private static let removingSQL = """
        WITH item AS (
            SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[])
                WITH ORDINALITY AS item (device, environment, app, version, place)
        ), held AS (
            SELECT item.place, item.version, d.device, d.environment, d.app
            FROM item JOIN carillon.destination AS d
                ON d.device = item.device AND d.environment = item.environment AND d.app = item.app
                AND d.version = item.version AND d.expires IS NOT NULL
            ORDER BY d.device, d.environment, d.app
            FOR NO KEY UPDATE OF d
        )
        UPDATE carillon.destination AS d SET \(MailboxColumns.emptying)
        FROM held
        WHERE d.device = held.device AND d.environment = held.environment AND d.app = held.app
            AND d.version = held.version AND d.expires IS NOT NULL
        RETURNING held.place
        """
}

extension PostgresRow {
    /// Reads a row that begins with the columns device, environment, app, id and topic. Returns nil if its mailbox
    /// was empty.
    func endedNotification(_ step: DeliveryStep) -> EndedNotification? {
        guard let destination = destination(0), let id = bytes(3).flatMap(NotificationID.init(column:)) else {
            return nil
        }
        return EndedNotification(id: id, destination: destination, topic: text(4) ?? "", step: step)
    }
}
