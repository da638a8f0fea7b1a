package import Delivery
package import Notifications
import PostgresClient
import PostgresSupport
package import Storage
import Synchronization

// Channels and their newest broadcasts. All changes of an app's channels lock in the same order: the channel, its
// broadcast, and last the number of the change. PostgresStore+Subscriptions.swift has the subscriptions.
extension PostgresStore: Channels {
    package func create(_ channels: [BroadcastChannel], limit: Int) async -> [Result<Void, StoreError>] {
        await each(channels) { await self.create($0, limit: limit) }
    }

    private func create(_ channel: BroadcastChannel, limit: Int) async -> Result<Void, StoreError> {
        let list = channel.key.list.values
        let statements = [
            PostgresStatement(
                """
                INSERT INTO carillon.channel_list (app, environment) VALUES ($1, $2)
                ON CONFLICT (app, environment) DO UPDATE SET app = excluded.app
                """, list),
            PostgresStatement(
                "SELECT EXISTS (SELECT FROM carillon.channel WHERE app = $1 AND environment = $2 AND id = $3)",
                channel.key.values),
            PostgresStatement(
                """
                WITH made AS (
                    INSERT INTO carillon.channel (app, environment, id, policy, created)
                    SELECT $1, $2, $3, $4, $5
                    WHERE (SELECT count(*) FROM carillon.channel WHERE app = $1 AND environment = $2) < $6
                    ON CONFLICT DO NOTHING RETURNING 1
                )
                INSERT INTO carillon.channel_change AS change (last) SELECT 1 FROM made
                ON CONFLICT (is_only) DO UPDATE SET last = change.last + 1
                RETURNING last
                """,
                channel.key.values + [
                    .integer(Int64(channel.policy.rawValue)), .integer(channel.created.column),  // fits: a byte
                    .integer(Int64(clamping: limit)),
                ]),
        ]
        return await Self.result { () throws(StoreError) in
            let answers = try await Self.execute(statements, on: self.writers[0])
            guard answers.count == 3, answers[1].first?.bool(0) != true else {
                throw StoreError.channelExists(channel.key.id)
            }
            guard answers[2].count > 0 else { throw StoreError.tooManyChannels(limit) }
        }
    }

    package func channels(_ keys: [ChannelKey]) async throws(StoreError) -> [BroadcastChannel?] {
        let rows = try await read(
            """
            SELECT item.place, c.policy, c.created
            FROM unnest($1::bigint[], $2::bigint[], $3::text[]) WITH ORDINALITY AS item (app, environment, id, place)
            JOIN carillon.channel AS c
                ON c.app = item.app AND c.environment = item.environment AND c.id = item.id
            """, keys.values)
        return try rows.found(of: keys, "a channel") { row, key in row.channel(key, policy: 1) }
    }

    package func channels(
        of list: ChannelList,
        after id: ChannelID?,
        limit: Int,
    ) async throws(StoreError) -> [BroadcastChannel] {
        let rows = try await read(
            """
            SELECT id, policy, created FROM carillon.channel
            WHERE app = $1 AND environment = $2 AND id > $3 ORDER BY id LIMIT $4
            """, list.values + [.text(id?.rawValue ?? ""), .integer(Int64(clamping: limit))])
        return try rows.map { row throws(StoreError) in
            guard let id = row.text(0).flatMap(ChannelID.init(rawValue:)),
                let channel = row.channel(ChannelKey(list: list, id: id), policy: 1)
            else { throw PostgresError.damaged("a channel").storeError }
            return channel
        }
    }

    package func remove(_ keys: [ChannelKey]) async -> [Result<Bool, StoreError>] {
        await each(keys) { await self.remove($0) }
    }

    /// Removes a channel. A row without a payload takes the place of its broadcast. It tells the other nodes that the
    /// channel is gone, and says which subscriptions are left over.
    private func remove(_ key: ChannelKey) async -> Result<Bool, StoreError> {
        let statement = PostgresStatement(
            """
            WITH gone AS (
                DELETE FROM carillon.channel WHERE app = $1 AND environment = $2 AND id = $3
                RETURNING app, environment, id
            ), change AS (
                INSERT INTO carillon.channel_change AS change (last) SELECT 1 FROM gone
                ON CONFLICT (is_only) DO UPDATE SET last = change.last + 1
                RETURNING last
            )
            INSERT INTO carillon.broadcast AS b (app, environment, channel, version, node, expires)
            SELECT gone.app, gone.environment, gone.id, change.last, $4,
                (extract(epoch FROM clock_timestamp()) * 1000)::bigint + $5
            FROM gone, change
            ON CONFLICT (app, environment, channel) DO UPDATE SET
                version = excluded.version, node = excluded.node, expires = excluded.expires, expiration = NULL,
                priority = NULL, contents = NULL, id = NULL, push_type = NULL, topic = NULL, payload = NULL
            RETURNING version
            """, key.values + [.bytes(configuration.node.identity), .integer(Self.removalMilliseconds)])
        return await Self.result { () throws(StoreError) in
            try await Self.execute([statement], on: self.writers[0]).first?.count == 1
        }
    }

    /// How long the store says that a channel was removed. A node that has not asked for so long has lost its lease,
    /// so it has ended all streams.
    private static let removalMilliseconds: Int64 = 60_000

    package func store(_ broadcasts: [BroadcastEntry]) async -> [Result<BroadcastVersion, StoreError>] {
        let now = ContinuousClock.now
        return await each(broadcasts) { entry in
            let accepted = entry.waited.map { now - $0 }
            let (moment, changes) = clock.withLock { clock in (accepted.flatMap(clock.latest(at:)), clock.changes) }
            var result = await store(entry, acceptedAt: moment)
            // The clock was set, so what was measured before was wrong when it said that the broadcast came late.
            if result == .failure(.overtaken), clock.withLock(\.changes) != changes {
                result = await store(entry, acceptedAt: clock.withLock { clock in accepted.flatMap(clock.latest(at:)) })
            }
            return result
        }
    }

    /// Stores a broadcast, unless the channel keeps another one that was stored later than this one was accepted. Versions are
    /// numbers, so the row has the time as well. Compare `PostgresStore.storing`, which does the same for mailboxes.
    private func store(
        _ entry: BroadcastEntry,
        acceptedAt moment: DatabaseClock.Moment?,
    ) async -> Result<BroadcastVersion, StoreError> {
        let notification = entry.notification
        let columns = [
            BoundColumn("node", .bytes(configuration.node.identity)),
            BoundColumn("expires", .integer(entry.expires.column)),
            BoundColumn("id", .bytes(notification.id.column)),
            BoundColumn("priority", .integer(Int64(notification.priority.rawValue))),  // fits: a byte
            BoundColumn("expiration", .integer(notification.expiration.seconds.map { Int64(bitPattern: $0) })),
            BoundColumn("contents", .integer(Int64(notification.payload.contents.rawValue))),  // fits: a byte
            BoundColumn("push_type", .text(notification.pushType?.rawValue)),
            BoundColumn("topic", .bytes(Array(notification.topic.utf8))),
            BoundColumn("payload", .bytes(Array(notification.payload.json))),
        ]
        // The number of the parameter that comes after those of the columns.
        let accepted = 4 + columns.count
        let statements = [
            // Whoever removes the channel waits for this lock, and removes the broadcast with it.
            PostgresStatement(
                "SELECT 1 FROM carillon.channel WHERE app = $1 AND environment = $2 AND id = $3 FOR KEY SHARE",
                entry.channel.values),
            PostgresStatement(
                assembled: """
                    WITH change AS (
                        INSERT INTO carillon.channel_change AS change (last)
                        SELECT 1 FROM carillon.channel WHERE app = $1 AND environment = $2 AND id = $3
                        ON CONFLICT (is_only) DO UPDATE SET last = change.last + 1
                        RETURNING last
                    )
                    INSERT INTO carillon.broadcast AS b (app, environment, channel, version, \(columns.names))
                    SELECT $1, $2, $3, change.last, \(columns.parameters(from: 4)) FROM change
                    ON CONFLICT (app, environment, channel) DO UPDATE SET
                        version = excluded.version, \(columns.assignments(from: "excluded"))
                    WHERE NOT coalesce(
                        b.payload IS NOT NULL AND b.id <> excluded.id AND b.stored > $\(accepted)::bigint
                        AND b.stored <= \(Self.serverTime) AND \(Self.isServer(accepted + 1)), false)
                    RETURNING version
                    """,
                entry.channel.values + columns.values + [.integer(moment?.time), .integer(moment?.server)]),
        ]
        return await Self.result { () throws(StoreError) in
            let answers = try await self.executeMeasured(statements, on: self.writers[0])
            guard answers.first?.count == 1 else { throw StoreError.noChannel(entry.channel.id) }
            guard let row = answers.last?.first else { throw StoreError.overtaken }
            guard let version = row.version(0) else { throw PostgresError.damaged("a broadcast").storeError }
            return version
        }
    }

    package func stored(_ keys: [ChannelKey]) async throws(StoreError) -> [StoredBroadcast?] {
        let rows = try await read(
            """
            SELECT item.place, b.version, b.expires, b.id, b.priority, b.expiration, b.contents, b.push_type, b.topic,
                NULL::bytea, b.payload
            FROM unnest($1::bigint[], $2::bigint[], $3::text[]) WITH ORDINALITY AS item (app, environment, id, place)
            JOIN carillon.broadcast AS b
                ON b.app = item.app AND b.environment = item.environment AND b.channel = item.id
            WHERE b.payload IS NOT NULL
            """, keys.values)
        return try rows.found(of: keys, "a broadcast") { row, key in row.broadcast(of: key) }
    }

    /// Carries out one transaction for each item.
    func each<Item, Value>(
        _ items: [Item],
        _ body: (Item) async -> Result<Value, StoreError>,
    ) async -> [Result<Value, StoreError>] {
        var results: [Result<Value, StoreError>] = []
        for item in items { results.append(await body(item)) }
        return results
    }

    static func result<Value>(
        _ body: () async throws(StoreError) -> Value
    ) async -> Result<Value, StoreError> {
        do throws(StoreError) {
            return .success(try await body())
        } catch {
            return .failure(error)
        }
    }
}

extension ChannelList {
    /// The parameters `app` and `environment`.
    var values: [PostgresValue] { [.integer(app.column), .integer(environment.column)] }
}

extension ChannelKey {
    /// The parameters `app`, `environment` and `id`.
    var values: [PostgresValue] { list.values + [.text(id.rawValue)] }
}

extension Array where Element == ChannelKey {
    /// The parameters `apps`, `environments` and `ids`.
    fileprivate var values: [PostgresValue] {
        [
            .integers(map { $0.list.app.column }), .integers(map { $0.list.environment.column }),
            .texts(map { $0.id.rawValue }),
        ]
    }
}

extension PostgresRow {
    /// Reads a channel from the columns policy and created, which begin at this column.
    func channel(_ key: ChannelKey, policy column: Int) -> BroadcastChannel? {
        guard
            let policy = integer(column).flatMap(UInt8.init(exactly:)).flatMap(MessageStoragePolicy.init(rawValue:)),
            let created = moment(column + 1)
        else { return nil }
        return BroadcastChannel(key: key, policy: policy, created: created)
    }

    func version(_ column: Int) -> BroadcastVersion? {
        integer(column).flatMap(UInt64.init(exactly:)).map(BroadcastVersion.init(rawValue:))
    }

    /// Reads a broadcast from columns of which the second is the version and the third the expiry; the others are
    /// those of a mailbox.
    func broadcast(of key: ChannelKey) -> StoredBroadcast? {
        guard let version = version(1), let expires = moment(2), let notification = notification(from: 0) else {
            return nil
        }
        return StoredBroadcast(
            entry: BroadcastEntry(channel: key, notification: notification, expires: expires), version: version)
    }
}
