package import Delivery
package import Notifications
import PostgresClient
import PostgresSupport
package import Storage
import Synchronization

// Subscriptions of devices. Whoever changes them locks the registration, as whoever stores a notification does. A node
// that has just taken a device waits for these locks before it reads (``subscriptions(of:)``). So it either finds a
// change, or the change finds the node and is announced to it.
extension PostgresStore {
    package func subscribe(
        _ subscriptions: [Subscription],
        limit: Int,
        at moment: Timestamp,
    ) async -> [Result<Void, StoreError>] {
        await each(subscriptions) { await self.subscribe($0, limit: limit, at: moment) }
    }

    private func subscribe(
        _ subscription: Subscription,
        limit: Int,
        at moment: Timestamp,
    ) async -> Result<Void, StoreError> {
        let destination = subscription.destination
        let statements = [
            Self.locking(destination, reading: "active, changed"),
            PostgresStatement(
                """
                INSERT INTO carillon.subscription (device, environment, app, channel)
                SELECT d.device, d.environment, d.app, c.id FROM carillon.destination AS d
                JOIN carillon.channel AS c ON c.app = d.app AND c.environment = d.environment AND c.id = $4
                WHERE d.device = $1 AND d.environment = $2 AND d.app = $3 AND d.active
                    AND (SELECT count(*) FROM carillon.subscription AS s
                        WHERE s.device = $1 AND s.environment = $2 AND s.app = $3) < $5
                ON CONFLICT DO NOTHING
                """, subscription.values + [.integer(Int64(clamping: limit))]),
            PostgresStatement(
                """
                SELECT EXISTS (SELECT FROM carillon.channel WHERE app = $3 AND environment = $2 AND id = $4),
                    EXISTS (SELECT FROM carillon.subscription
                        WHERE device = $1 AND environment = $2 AND app = $3 AND channel = $4)
                """, subscription.values),
            announcing([destination]),
        ]
        return await Self.result { () throws(StoreError) in
            let answers = try await self.executePromptly(statements, on: self.writer(of: subscription.device))
            guard answers.count == 4 else { throw PostgresError.damaged("a subscription").storeError }
            guard answers[0].first?.bool(0) == true else {
                throw StoreError.ended(at: answers[0].first?.moment(1) ?? moment)
            }
            guard answers[2].first?.bool(0) == true else { throw StoreError.noChannel(subscription.channel) }
            guard answers[2].first?.bool(1) == true else { throw StoreError.tooManySubscriptions(limit) }
            self.hasHeardOfChannels.store(true, ordering: .relaxed)
        }
    }

    package func unsubscribe(_ subscriptions: [Subscription]) async -> [Result<Void, StoreError>] {
        await each(subscriptions) { subscription in
            let statements = [
                Self.locking(subscription.destination),
                PostgresStatement(
                    """
                    DELETE FROM carillon.subscription
                    WHERE device = $1 AND environment = $2 AND app = $3 AND channel = $4
                    """, subscription.values),
                self.announcing([subscription.destination]),
            ]
            return await Self.result { () throws(StoreError) in
                _ = try await self.executePromptly(statements, on: self.writer(of: subscription.device))
            }
        }
    }

    package func mark(_ seen: [SeenBroadcast]) async -> [Result<Void, StoreError>] {
        let subscriptions = seen.map(\.subscription)
        let statement = PostgresStatement(
            """
            WITH item AS (
                SELECT device, environment, app, channel, max(seen) AS seen
                FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::text[], $5::bigint[])
                    AS item (device, environment, app, channel, seen)
                GROUP BY device, environment, app, channel
            ), held AS (
                SELECT s.device, s.environment, s.app, s.channel, item.seen
                FROM carillon.subscription AS s JOIN item USING (device, environment, app, channel)
                ORDER BY s.device, s.environment, s.app, s.channel FOR NO KEY UPDATE OF s
            )
            UPDATE carillon.subscription AS s SET seen = greatest(s.seen, held.seen) FROM held
            WHERE s.device = held.device AND s.environment = held.environment AND s.app = held.app
                AND s.channel = held.channel
            """,
            subscriptions.map(\.destination).values + [
                .texts(subscriptions.map { $0.channel.rawValue }),
                .integers(seen.map { Int64(clamping: $0.version.rawValue) }),
            ])
        let result = await Self.result { () throws(StoreError) in
            _ = try await Self.execute([statement], on: self.writers[0])
        }
        return seen.map { _ in result }
    }

    /// False as long as no node has ever created a channel, as far as this node has heard. When it hears of the first,
    /// ``Broadcasts`` reads the subscriptions of all its devices.
    package func maySubscribe(_ device: DeviceKey) -> Bool { hasHeardOfChannels.load(ordering: .relaxed) }

    package func subscriptions(of device: DeviceKey) async throws(StoreError) -> [SubscribedChannel] {
        // Two statements, because the second one has to see what was committed while the first one waited.
        let answers = try await Self.execute(
            [
                PostgresStatement(
                    "SELECT 1 FROM carillon.destination WHERE device = $1 AND environment = $2 FOR SHARE",
                    device.values),
                PostgresStatement(
                    """
                    SELECT s.app, s.channel, s.seen, c.policy, c.created FROM carillon.subscription AS s
                    JOIN carillon.channel AS c
                        ON c.app = s.app AND c.environment = s.environment AND c.id = s.channel
                    WHERE s.device = $1 AND s.environment = $2
                    """, device.values),
            ], on: reader)
        guard let rows = answers.last else { return [] }
        return try rows.map { row throws(StoreError) in
            guard let app = row.integer(0).flatMap(AppID.init(column:)),
                let id = row.text(1).flatMap(ChannelID.init(rawValue:)), let seen = row.version(2),
                let channel = row.channel(
                    ChannelKey(list: ChannelList(environment: device.environment, app: app), id: id), policy: 3)
            else { throw PostgresError.damaged("a subscription of device \(device.device)").storeError }
            return SubscribedChannel(channel: channel, seen: seen.rawValue == 0 ? nil : seen)
        }
    }

    package func removeLeftovers(before moment: Timestamp, limit: Int) async throws(StoreError) -> Int {
        var left = limit
        for statement in Self.leftovers where left > 0 {
            let values: [PostgresValue] =
                statement.hasMoment
                ? [.integer(Int64(clamping: left)), .integer(moment.column)] : [.integer(Int64(clamping: left))]
            let answers = try await Self.execute([PostgresStatement(statement.sql, values)], on: writers[0])
            left -= Int(clamping: answers.first?.affected ?? 0)
        }
        return limit - max(0, left)
    }

    /// Each statement removes at most `$1` rows of its table, and skips those that another node is removing. The
    /// first also removes the broadcasts of its channels, which are not counted. A statement with a moment has it as `$2`.
    private static let leftovers: [(sql: StaticString, hasMoment: Bool)] = [
        // Channels of deleted apps.
        (
            """
            WITH gone AS (
                SELECT c.app, c.environment, c.id
                FROM carillon.deleted_app AS app JOIN carillon.channel AS c ON c.app = app.id
                LIMIT $1 FOR UPDATE OF c SKIP LOCKED
            ), broadcast AS (
                DELETE FROM carillon.broadcast AS b USING gone
                WHERE b.app = gone.app AND b.environment = gone.environment AND b.channel = gone.id
            )
            DELETE FROM carillon.channel AS c USING gone
            WHERE c.app = gone.app AND c.environment = gone.environment AND c.id = gone.id
            """, false
        ),
        // Subscriptions of deleted apps, and to removed channels.
        (
            """
            WITH gone AS (
                SELECT s.device, s.environment, s.app, s.channel
                FROM carillon.deleted_app AS app JOIN carillon.subscription AS s ON s.app = app.id
                LIMIT $1 FOR UPDATE OF s SKIP LOCKED
            )
            DELETE FROM carillon.subscription AS s USING gone
            WHERE s.device = gone.device AND s.environment = gone.environment AND s.app = gone.app
                AND s.channel = gone.channel
            """, false
        ),
        (
            """
            WITH gone AS (
                SELECT s.device, s.environment, s.app, s.channel
                FROM carillon.broadcast AS b JOIN carillon.subscription AS s
                    ON s.app = b.app AND s.environment = b.environment AND s.channel = b.channel
                WHERE b.payload IS NULL
                LIMIT $1 FOR UPDATE OF s SKIP LOCKED
            )
            DELETE FROM carillon.subscription AS s USING gone
            WHERE s.device = gone.device AND s.environment = gone.environment AND s.app = gone.app
                AND s.channel = gone.channel
            """, false
        ),
        // Expired broadcasts. The row of a removed channel stays as long as there are subscriptions to it.
        (
            """
            WITH gone AS (
                SELECT b.app, b.environment, b.channel FROM carillon.broadcast AS b
                WHERE b.expires < $2 AND (b.payload IS NOT NULL OR NOT EXISTS (
                    SELECT FROM carillon.subscription AS s
                    WHERE s.app = b.app AND s.environment = b.environment AND s.channel = b.channel))
                LIMIT $1 FOR UPDATE OF b SKIP LOCKED
            )
            DELETE FROM carillon.broadcast AS b USING gone
            WHERE b.app = gone.app AND b.environment = gone.environment AND b.channel = gone.channel
            """, true
        ),
    ]
}

extension Subscription {
    /// The parameters `device`, `environment`, `app` and `channel`.
    fileprivate var values: [PostgresValue] { destination.values + [.text(channel.rawValue)] }
}
