package import Delivery
import Notifications
import PostgresClient
import PostgresSupport
package import Storage
import Synchronization

// Mailboxes that keep more than one notification (docs/decisions/0095-mailboxes-that-keep-more.md).
extension PostgresStore {
    /// Records that a mailbox may hold more than one notification, for as long as this node runs.
    func noteKept() { hasKept.store(true, ordering: .relaxed) }

    /// Whether a mailbox may hold more than one notification.
    var mayHaveKept: Bool {
        if hasKept.load(ordering: .relaxed) { return true }
        guard !current.keeping.isEmpty else { return false }
        noteKept()
        return true
    }

    // MARK: Storing

    /// The statement that stores entries behind those that are there. As for other mailboxes, rows that another transaction
    /// holds are left out of it, unless it waits for them.
    func keeping(_ chains: [EntryChain], waits: Bool) -> PostgresStatement {
        let stored = chains.map(\.last.entry)
        let destinations = stored.map(\.destination)
        let columns =
            destinations.columns + MailboxColumns.columns(of: stored) + chains.timeColumns(margin: ageMargin) + [
                destinations.queueColumn,
                BoundColumn("bytes", .integers(stored.map { Int64(clamping: $0.notification.countedBytes) })),
            ]
        let next = columns.count + 1
        return PostgresStatement(
            assembled: """
                SELECT place, step, is_active, changed, version, id, topic FROM carillon.keep(
                    \(columns.parameters()), $\(next)::bigint, $\(next + 1)::bigint, $\(next + 2)::bigint,
                    coalesce(\(Self.isServer(next + 3)), false), $\(next + 4)::boolean)
                """,
            columns.values + [
                .integer(Int64(clamping: MailboxBound.maximumBytes)),
                .integer(Int64(clamping: MailboxBound.subscription.count)),
                .integer(Int64(clamping: MailboxBound.subscription.bytes)),
                .integer(chains.server), .bool(waits),
            ])
    }

    /// Reads the answer to ``keeping(_:waits:)``, and records what had to go. The answer has no row for an entry whose destination
    /// has none in the table, or whose row another transaction holds.
    func readKept(_ rows: PostgresRows, of chains: [EntryChain]) -> StoringOutcomes {
        var outcomes: StoringOutcomes = [:]
        var ended: [EndedNotification] = []
        for row in rows.map(\.self) {
            guard let chain = row.item(of: chains) else { continue }
            let entry = chain.last.entry
            guard row.integer(1) != 0 else {
                outcomes[chain.last.position] = outcome(of: row, from: 2) { MailboxVersion(kept: $0) }
                continue
            }
            guard let id = row.bytes(5).flatMap(NotificationID.init(column:)), id != entry.notification.id else {
                continue
            }
            let step = row.integer(1) == 1 ? DeliveryStep.coalesced(into: entry.notification.id) : .dropped
            ended.append(
                EndedNotification(id: id, destination: entry.destination, topic: row.text(6) ?? "", step: step))
        }
        journal.record(ended)
        return outcomes
    }

    // MARK: Removing

    /// Removes each from the table that its version names, and otherwise from the other one: it may have been moved.
    func removeEither(
        _ references: [MailboxReference],
        on connection: PostgresConnection,
    ) async -> [Result<MailboxRemoval, StoreError>] {
        var results = [Result<MailboxRemoval, StoreError>](repeating: .success(.superseded), count: references.count)
        for isMoved in [false, true] {
            for isKept in [true, false] {
                let rest = references.indices.filter {
                    results[$0] == .success(.superseded) && (references[$0].version.isKept != isMoved) == isKept
                        && (isKept || !references[$0].destination.isSubscription)
                }
                guard !rest.isEmpty else { continue }
                let part = rest.map { references[$0] }
                let removed =
                    isKept
                    ? await removeKept(part, on: connection) : await Self.remove(part, on: connection)
                for (index, result) in zip(rest, removed) { results[index] = result }
            }
        }
        return results
    }

    /// Removes what these versions name, of mailboxes that keep more. Locks the mailboxes first, as storing does.
    func removeKept(
        _ references: [MailboxReference],
        on connection: PostgresConnection,
    ) async -> [Result<MailboxRemoval, StoreError>] {
        do throws(StoreError) {
            let removed = try await removeAllKept(references, on: connection)
            var left = removed
            // A second removal of the same finds nothing.
            return references.map { .success(left.remove($0) == nil ? .superseded : .removed) }
        } catch {
            return references.map { _ in .failure(error) }
        }
    }

    private func removeAllKept(
        _ references: [MailboxReference],
        on connection: PostgresConnection,
    ) async throws(StoreError) -> Set<MailboxReference> {
        let ordered = references.sorted { Destination.isOrderedInTable($0.destination, $1.destination) }
        let values =
            ordered.map(\.destination).values + [
                .integers(ordered.map { Int64(clamping: $0.version.number) }),
                ordered.map(\.destination).queueColumn.value,
            ]
        let answers = try await Self.execute(
            [
                PostgresStatement(
                    """
                    SELECT 1 FROM unnest($1::bigint[], $2::bigint[], $3::bigint[]) AS item (device, environment, app)
                    JOIN carillon.destination AS d
                        ON d.device = item.device AND d.environment = item.environment AND d.app = item.app
                    ORDER BY d.device, d.environment, d.app FOR NO KEY UPDATE OF d
                    """, ordered.map(\.destination).values),
                PostgresStatement(
                    """
                    DELETE FROM carillon.kept AS k
                    USING unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[])
                        WITH ORDINALITY AS item (device, environment, app, version, queue, place)
                    WHERE k.device = item.device AND k.environment = item.environment AND k.app = item.app
                        AND k.queue = item.queue AND k.version = item.version
                    RETURNING item.place
                    """, values),
            ], on: connection)
        return Set(answers.last?.map { $0.item(of: ordered) }.compactMap(\.self) ?? [])
    }

    /// Removes what has expired. It waits for no lock.
    func removeExpiredKept(before moment: Timestamp, limit: Int) async throws(StoreError) -> Int {
        let answers = try await Self.execute(
            [
                PostgresStatement(
                    """
                    DELETE FROM carillon.kept AS k USING (
                        SELECT device, environment, app, queue, version FROM carillon.kept
                        WHERE expires < $1 ORDER BY expires LIMIT $2 FOR UPDATE SKIP LOCKED
                    ) AS due
                    WHERE k.device = due.device AND k.environment = due.environment AND k.app = due.app
                        AND k.queue = due.queue AND k.version = due.version
                    RETURNING k.device, k.environment, k.app, k.id, k.topic
                    """, [.integer(moment.column), .integer(Int64(clamping: limit))])
            ], on: writers[0])
        guard let gone = answers.first else { return 0 }
        journal.record(gone.map { $0.endedNotification(.expired) }.compactMap(\.self))
        return gone.count
    }

    /// Empties mailboxes whose registrations end, in the transaction that ends them, which has locked them.
    /// - Parameter app: nil for all apps of the device.
    static func emptyingKept(of app: AppID?, on device: DeviceKey) -> [PostgresStatement] {
        let values = device.values + [.integer(app?.column)]
        return [
            PostgresStatement(
                """
                SELECT 1 FROM carillon.destination
                WHERE device = $1 AND environment = $2 AND ($3::bigint IS NULL OR app = $3)
                ORDER BY app FOR NO KEY UPDATE
                """, values),
            // If an app can get no other generation, nothing ends.
            PostgresStatement(
                """
                DELETE FROM carillon.kept
                WHERE device = $1 AND environment = $2 AND ($3::bigint IS NULL OR app = $3)
                    AND ($3::bigint IS NOT NULL OR NOT EXISTS (
                        SELECT FROM carillon.destination AS last
                        WHERE last.device = $1 AND last.environment = $2 AND last.generation >= $4
                    ))
                RETURNING device, environment, app, id, topic
                """, values + [.integer(Int64(clamping: TokenNumber.lastGeneration))]),
        ]
    }

    package func fitMailboxes(limit: Int) async throws(StoreError) -> Int {
        guard limit > 0, mayHaveKept else { return 0 }
        let rows = try await read(
            """
            SELECT k.device, k.environment, k.app FROM carillon.kept AS k JOIN carillon.app AS a ON a.id = k.app
            WHERE k.queue = 0 GROUP BY k.device, k.environment, k.app, a.keep
            HAVING count(*) > CASE WHEN a.keep > 1 THEN a.keep ELSE 0 END OR sum(k.bytes) > $1 LIMIT $2
            """, [.integer(Int64(clamping: MailboxBound.maximumBytes)), .integer(Int64(clamping: limit))])
        let destinations = rows.map { $0.destination(0) }.compactMap(\.self)
        for destination in destinations {
            let answers = try await Self.execute(
                [
                    PostgresStatement(
                        "SELECT id, topic FROM carillon.fit($1, $2, $3, $4)",
                        destination.values + [.integer(Int64(clamping: MailboxBound.maximumBytes))]),
                    announcing([destination]),
                ], on: writer(of: destination.deviceKey))
            let dropped = answers.first?.map { row in
                row.bytes(0).flatMap(NotificationID.init(column:)).map {
                    EndedNotification(id: $0, destination: destination, topic: row.text(1) ?? "", step: .dropped)
                }
            }
            journal.record((dropped ?? []).compactMap(\.self))
        }
        return destinations.count
    }

    // MARK: Reading

    package func page(
        of device: DeviceKey,
        after version: MailboxVersion?,
    ) async throws(StoreError) -> MailboxPage {
        // Waits for the transactions that are storing something for the device.
        let newest = try await newestEntries(of: device)
        guard mayHaveKept else { return MailboxPage(entries: newest) }
        // Then both kinds in one state of the database: a notification may be moved from one to the other.
        let after = Int64(clamping: version?.number ?? 0)
        let rows = try await read(
            PostgresStatement(
                assembled: Self.pageSQL,
                device.values + [.integer(after), .integer(Int64(clamping: MailboxBound.pageCount))]))
        let entries = try rows.map { row throws(StoreError) in
            guard let queue = row.integer(1).flatMap(UInt32.init(exactly:)),
                var stored = row.mailboxEntry(of: device, from: 2, queue: queue)
            else {
                throw PostgresError.damaged("a mailbox of device \(device.device)").storeError
            }
            if row.bool(0) == true { stored.version = MailboxVersion(kept: stored.version.rawValue) }
            return stored
        }
        guard let last = entries.last(where: \.version.isKept)?.version,
            entries.count(where: \.version.isKept) == MailboxBound.pageCount
        else { return MailboxPage(entries: entries) }
        let following = try await read(
            """
            SELECT DISTINCT app, queue FROM carillon.kept
            WHERE device = $1 AND environment = $2 AND version > $3
            """, device.values + [.integer(Int64(clamping: last.number))])
        let mailboxes = following.map { row -> DeviceMailbox? in
            guard let app = row.integer(0).flatMap(AppID.init(column:)),
                let queue = row.integer(1).flatMap(UInt32.init(exactly:))
            else { return nil }
            return DeviceMailbox(app: app, queue: queue)
        }
        let set = Set(mailboxes.compactMap(\.self))
        return MailboxPage(entries: entries, last: set.isEmpty ? nil : last, following: set)
    }

    private static let pageSQL = """
        SELECT false AS is_kept, 0::bigint AS queue, \(MailboxColumns.reading(from: "d")) FROM carillon.destination AS d
        WHERE d.device = $1 AND d.environment = $2 AND d.expires IS NOT NULL
        UNION ALL
        SELECT true AS is_kept, k.queue, \(MailboxColumns.reading(from: "k")) FROM (
            SELECT * FROM carillon.kept
            WHERE device = $1 AND environment = $2 AND version > $3 ORDER BY version LIMIT $4
        ) AS k
        ORDER BY 1, 4, 3
        """

    /// The newest contents of mailboxes that keep more, in their order, with those of the apps' subscriptions.
    func keptContents(of destinations: [Destination]) async throws(StoreError) -> [Destination: [StoredMailboxEntry]] {
        guard mayHaveKept else { return [:] }
        let rows = try await read(
            PostgresStatement(
                assembled: Self.keptContentsSQL,
                destinations.values + [.integer(Int64(clamping: MailboxBound.pageCount))]))
        var found: [Destination: [StoredMailboxEntry]] = [:]
        for row in rows.map(\.self) {
            guard let destination = row.item(of: destinations),
                let queue = row.integer(1).flatMap(UInt32.init(exactly:)),
                var stored = row.mailboxEntry(of: destination.deviceKey, from: 2, queue: queue)
            else { throw PostgresError.damaged("a mailbox").storeError }
            stored.version = MailboxVersion(kept: stored.version.rawValue)
            found[destination, default: []].append(stored)
        }
        return found
    }

    private static let keptContentsSQL = """
        SELECT item.place, k.queue, \(MailboxColumns.reading(from: "k"))
        FROM unnest($1::bigint[], $2::bigint[], $3::bigint[]) WITH ORDINALITY
            AS item (device, environment, app, place)
        CROSS JOIN LATERAL (
            SELECT * FROM carillon.kept
            WHERE device = item.device AND environment = item.environment AND app = item.app
            ORDER BY version DESC LIMIT $4
        ) AS k
        ORDER BY item.place, k.version
        """
}

// MARK: - Copies

extension PostgresStore {
    package func copiedKept(
        after reference: MailboxReference?,
        limit: Int,
    ) async throws(StoreError) -> [StoredMailboxEntry] {
        let start =
            reference.map { $0.destination.placeValues + [.integer(Int64(clamping: $0.version.number))] }
            ?? [.integer(.min), .integer(-1), .integer(0), .integer(0), .integer(0)]
        let rows = try await read(
            PostgresStatement(
                assembled: """
                    SELECT device, environment, queue, \(MailboxColumns.reading(from: "k")) FROM carillon.kept AS k
                    WHERE (device, environment, app, queue, version) > ($1, $2, $3, $4, $5)
                    ORDER BY device, environment, app, queue, version LIMIT $6
                    """, start + [.integer(Int64(clamping: limit))]))
        return try rows.map { row throws(StoreError) in
            guard let device = row.integer(0), let environment = row.integer(1).flatMap(Environment.init(column:)),
                let queue = row.integer(2).flatMap(UInt32.init(exactly:)),
                var stored = row.mailboxEntry(
                    of: DeviceKey(environment: environment, device: DeviceID(column: device)), from: 3, queue: queue)
            else { throw PostgresError.damaged("a mailbox").storeError }
            stored.version = MailboxVersion(kept: stored.version.rawValue)
            return stored
        }
    }

    package func fill(kept entries: [StoredMailboxEntry]) async throws(StoreError) {
        let stored = entries.map(\.entry)
        let columns =
            stored.map(\.destination).columns + [
                BoundColumn("version", .integers(entries.map { Int64(clamping: $0.version.number) })),
                BoundColumn("bytes", .integers(stored.map { Int64(clamping: $0.notification.countedBytes) })),
                stored.map(\.destination).queueColumn,
            ] + MailboxColumns.columns(of: stored)
        _ = try await Self.execute(
            [
                PostgresStatement(
                    assembled: """
                        INSERT INTO carillon.kept (\(columns.names))
                        SELECT * FROM unnest(\(columns.parameters()))
                        """, columns.values),
                // New versions must be greater than all that are in use.
                PostgresStatement(
                    """
                    WITH item AS (
                        SELECT device, environment, app, queue, max(version) AS version
                        FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[])
                            AS item (device, environment, app, version, queue)
                        GROUP BY device, environment, app, queue
                    ), queues AS (
                        UPDATE carillon.web_push_subscription AS s SET version = greatest(s.version, item.version)
                        FROM item
                        WHERE s.device = item.device AND s.environment = item.environment AND s.app = item.app
                            AND s.queue = item.queue
                    )
                    UPDATE carillon.destination AS d SET version = greatest(d.version, item.version)
                    FROM item
                    WHERE d.device = item.device AND d.environment = item.environment AND d.app = item.app
                        AND item.queue = 0
                    """, columns.prefix(4).map(\.value) + [stored.map(\.destination).queueColumn.value]),
            ], on: writers[0])
    }
}
