package import Delivery
package import Notifications
import PostgresClient
import PostgresSupport
package import Storage

// Subscriptions of Web Push. Whoever changes them locks the registration, as whoever stores a message does.
extension PostgresStore {
    package func subscriptions(with digests: [[UInt8]]) async throws(StoreError) -> [WebPushSubscription?] {
        let found = try await subscriptions(
            "s.digest = ANY ($1::bytea[])", [.byteArrays(digests)], limit: digests.count)
        let byDigest = Dictionary(found.map { ($0.digest, $0) }, uniquingKeysWith: { $1 })
        return digests.map { byDigest[$0] }
    }

    package func subscriptions(of app: Destination) async throws(StoreError) -> [WebPushSubscription] {
        try await subscriptions(
            "s.device = $1 AND s.environment = $2 AND s.app = $3", app.values, limit: WebPushSubscription.maximumCount)
    }

    package func subscribe(
        _ subscription: WebPushSubscription,
        limit: Int,
    ) async throws(StoreError) -> WebPushSubscription {
        let app = subscription.destination.ofApp
        let name = PostgresValue.bytes(Array(subscription.name.utf8))
        let statements = [
            Self.locking(app, reading: "active, changed"),
            PostgresStatement(
                """
                INSERT INTO carillon.web_push_subscription (
                    device, environment, app, queue, name, seed, digest, vapid, plain)
                SELECT d.device, d.environment, d.app, $4, $5, $6, $7, $8, $9 <> 0 FROM carillon.destination AS d
                WHERE d.device = $1 AND d.environment = $2 AND d.app = $3 AND d.active AND (
                    EXISTS (SELECT FROM carillon.web_push_subscription AS s
                        WHERE s.device = $1 AND s.environment = $2 AND s.app = $3 AND s.name = $5)
                    OR (SELECT count(*) FROM carillon.web_push_subscription AS s
                        WHERE s.device = $1 AND s.environment = $2 AND s.app = $3) < $10)
                ON CONFLICT (device, environment, app, name)
                    DO UPDATE SET vapid = excluded.vapid, plain = excluded.plain
                """,
                subscription.destination.placeValues + [
                    name, .bytes(subscription.seed), .bytes(subscription.digest), .bytes(subscription.vapid),
                    .integer(subscription.isPlain ? 1 : 0), .integer(Int64(clamping: limit)),
                ]),
            PostgresStatement(
                assembled: Self.selecting("s.device = $1 AND s.environment = $2 AND s.app = $3 AND s.name = $4"),
                app.values + [name]),
        ]
        noteKept()
        let answers = try await executePromptly(statements, on: writer(of: app.deviceKey))
        guard answers.count == 3 else { throw PostgresError.damaged("a subscription").storeError }
        guard answers[0].first?.bool(0) == true else {
            throw StoreError.ended(at: answers[0].first?.moment(1) ?? journal.now)
        }
        guard let row = answers[2].first else { throw StoreError.tooManyWebPushSubscriptions(limit) }
        return try Self.subscription(row)
    }

    package func endSubscription(
        _ name: String,
        of app: Destination,
    ) async throws(StoreError) -> WebPushSubscription? {
        let values = app.values + [.bytes(Array(name.utf8))]
        let answers = try await executePromptly(
            [
                Self.locking(app),
                PostgresStatement(
                    assembled: Self.selecting("s.device = $1 AND s.environment = $2 AND s.app = $3 AND s.name = $4"),
                    values),
                PostgresStatement(
                    """
                    WITH gone AS (
                        DELETE FROM carillon.web_push_subscription
                        WHERE device = $1 AND environment = $2 AND app = $3 AND name = $4 RETURNING queue
                    )
                    DELETE FROM carillon.kept AS k USING gone
                    WHERE k.device = $1 AND k.environment = $2 AND k.app = $3 AND k.queue = gone.queue
                    RETURNING k.device, k.environment, k.app, k.id, k.topic
                    """, values),
            ], on: writer(of: app.deviceKey))
        guard answers.count == 3, let row = answers[1].first else { return nil }
        journal.record(answers[2].map { $0.endedNotification(.discarded(.unregistered)) }.compactMap(\.self))
        return try Self.subscription(row)
    }

    package func withdraw(
        _ id: NotificationID,
        from destination: Destination,
    ) async throws(StoreError) -> MailboxVersion? {
        let answers = try await executePromptly(
            [
                Self.locking(destination),
                PostgresStatement(
                    """
                    DELETE FROM carillon.kept
                    WHERE device = $1 AND environment = $2 AND app = $3 AND queue = $4 AND id = $5
                    RETURNING version, topic
                    """, destination.placeValues + [.bytes(id.column)]),
            ], on: writer(of: destination.deviceKey))
        guard let row = answers.last?.first, let version = row.integer(0).flatMap(UInt64.init(exactly:)) else {
            return nil
        }
        journal.record([
            EndedNotification(
                id: id, destination: destination, topic: row.text(1) ?? "", step: .discarded(.withdrawn))
        ])
        return MailboxVersion(kept: version)
    }

    /// Locks a registration, as whoever changes what depends on it does.
    static func locking(_ destination: Destination, reading columns: StaticString = "1") -> PostgresStatement {
        PostgresStatement(
            assembled: """
                SELECT \(columns) FROM carillon.destination
                WHERE device = $1 AND environment = $2 AND app = $3 FOR NO KEY UPDATE
                """, destination.values)
    }

    // MARK: Rows

    private func subscriptions(
        _ condition: String,
        _ values: [PostgresValue],
        limit: Int,
    ) async throws(StoreError) -> [WebPushSubscription] {
        guard limit > 0 else { return [] }
        let rows = try await read(
            PostgresStatement(
                assembled: Self.selecting(condition) + " LIMIT $\(values.count + 1)",
                values + [.integer(Int64(clamping: limit))]))
        return try rows.map { row throws(StoreError) in try Self.subscription(row) }
    }

    /// In the order of their places and names, with the generations of their registrations.
    private static func selecting(_ condition: String) -> String {
        """
        SELECT s.device, s.environment, s.app, s.queue, s.name, s.seed, s.digest, s.vapid, s.plain, d.generation
        FROM carillon.web_push_subscription AS s JOIN carillon.destination AS d
            ON d.device = s.device AND d.environment = s.environment AND d.app = s.app
        WHERE \(condition) ORDER BY s.device, s.environment, s.app, s.name
        """
    }

    private static func subscription(_ row: PostgresRow) throws(StoreError) -> WebPushSubscription {
        guard let app = row.destination(0), let queue = row.integer(3).flatMap(UInt32.init(exactly:)),
            let name = row.bytes(4), let seed = row.bytes(5), let digest = row.bytes(6), let isPlain = row.bool(8),
            let generation = row.integer(9).flatMap(UInt32.init(exactly:))
        else { throw PostgresError.damaged("a subscription of Web Push").storeError }
        return WebPushSubscription(
            destination: Destination(environment: app.environment, device: app.device, app: app.app, queue: queue),
            name: String(decoding: name, as: UTF8.self), seed: seed, digest: digest, vapid: row.bytes(7),
            isPlain: isPlain, generation: generation)
    }
}

// MARK: - Copies

extension PostgresStore {
    package func copiedSubscriptions(
        after subscription: WebPushSubscription?,
        limit: Int,
    ) async throws(StoreError) -> [WebPushSubscription] {
        let start =
            subscription.map { $0.destination.values + [.bytes(Array($0.name.utf8))] }
            ?? [.integer(.min), .integer(-1), .integer(0), .bytes([])]
        return try await subscriptions(
            "(s.device, s.environment, s.app, s.name) > ($1, $2, $3, $4)", start, limit: limit)
    }

    package func fill(_ subscriptions: [WebPushSubscription]) async throws(StoreError) {
        let columns =
            subscriptions.map(\.destination).columns + [
                subscriptions.map(\.destination).queueColumn,
                BoundColumn("name", .byteArrays(subscriptions.map { Array($0.name.utf8) })),
                BoundColumn("seed", .byteArrays(subscriptions.map(\.seed))),
                BoundColumn("digest", .byteArrays(subscriptions.map(\.digest))),
                BoundColumn("vapid", .byteArrays(subscriptions.map(\.vapid))),
            ]
        // There is no parameter for an array of booleans.
        let rows = columns + [BoundColumn("is_plain", .integers(subscriptions.map { $0.isPlain ? 1 : 0 }))]
        _ = try await Self.execute(
            [
                PostgresStatement(
                    assembled: """
                        INSERT INTO carillon.web_push_subscription (\(columns.names), plain)
                        SELECT \(columns.names), is_plain = 1
                        FROM unnest(\(rows.parameters())) AS item (\(rows.names))
                        """, rows.values)
            ], on: writers[0])
    }
}
