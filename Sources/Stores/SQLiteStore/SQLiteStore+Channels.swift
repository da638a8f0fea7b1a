package import Delivery
import Foundation
import GRDB
package import Notifications
import SQLiteSupport
package import Storage

extension SQLiteStore: Channels {
    package func create(_ channels: [BroadcastChannel], limit: Int) async -> [Result<Void, StoreError>] {
        await writeEach(channels) { channel, database throws(SQLiteFailure) -> Result<Void, StoreError> in
            try Self.create(channel, limit: limit, in: database)
        }
    }

    package func channels(_ keys: [ChannelKey]) async throws(StoreError) -> [BroadcastChannel?] {
        try await read { database throws(SQLiteFailure) in
            var channels: [BroadcastChannel?] = []
            for key in keys { channels.append(try Self.channel(key, in: database)) }
            return channels
        }
    }

    package func channels(
        of list: ChannelList,
        after id: ChannelID?,
        limit: Int,
    ) async throws(StoreError) -> [BroadcastChannel] {
        try await read { database throws(SQLiteFailure) in
            try database.rows(
                """
                SELECT id, policy, created FROM channel
                WHERE environment = ? AND app = ? AND id > ? ORDER BY id LIMIT ?
                """,
                list.arguments + [id?.rawValue ?? "", limit],
            ) { row throws(SQLiteFailure) in
                try row.channel(in: list)
            }
        }
    }

    package func remove(_ keys: [ChannelKey]) async -> [Result<Bool, StoreError>] {
        await writeEach(keys) { key, database throws(SQLiteFailure) -> Result<Bool, StoreError> in
            try database.run(
                "DELETE FROM broadcast WHERE environment = ? AND app = ? AND channel = ?", key.arguments)
            // The channel's subscriptions have no effect from now on. They are removed later, with other leftovers.
            return .success(
                try database.run(
                    "DELETE FROM channel WHERE environment = ? AND app = ? AND id = ?", key.arguments) > 0)
        }
    }

    package func store(_ broadcasts: [BroadcastEntry]) async -> [Result<BroadcastVersion, StoreError>] {
        await writeEach(broadcasts) {
            entry, database throws(SQLiteFailure) -> Result<BroadcastVersion, StoreError> in
            guard try Self.channel(entry.channel, in: database) != nil else {
                return .failure(.noChannel(entry.channel.id))
            }
            let version = try Self.meta(.broadcastVersion, in: database) + 1
            try Self.setMeta(.broadcastVersion, to: version, in: database)
            try Self.write(entry, version: version, in: database)
            return .success(BroadcastVersion(rawValue: UInt64(clamping: version)))
        }
    }

    package func stored(_ keys: [ChannelKey]) async throws(StoreError) -> [StoredBroadcast?] {
        try await read { database throws(SQLiteFailure) in
            var stored: [StoredBroadcast?] = []
            for key in keys { stored.append(try Self.stored(key, in: database)) }
            return stored
        }
    }

    package func subscribe(
        _ subscriptions: [Subscription],
        limit: Int,
        at moment: Timestamp,
    ) async -> [Result<Void, StoreError>] {
        let devices = subscribedDevices
        return await writeEach(subscriptions) {
            subscription, database throws(SQLiteFailure) -> Result<Void, StoreError> in
            try Self.subscribe(subscription, limit: limit, at: moment, in: database)
        } committed: { results in
            for (subscription, result) in zip(subscriptions, results) {
                if case .success = result { devices.insert(subscription.device) }
            }
        }
    }

    package func unsubscribe(_ subscriptions: [Subscription]) async -> [Result<Void, StoreError>] {
        let devices = subscribedDevices
        let left = await writeEach(subscriptions) {
            subscription, database throws(SQLiteFailure) -> Result<Bool, StoreError> in
            try database.run(
                "DELETE FROM subscription WHERE environment = ? AND device = ? AND app = ? AND channel = ?",
                subscription.arguments)
            return .success(try Self.hasSubscriptions(subscription.device, in: database))
        } committed: { results in
            for (subscription, result) in zip(subscriptions, results) {
                if case .success(false) = result { devices.remove(subscription.device) }
            }
        }
        return left.map { $0.map { _ in } }
    }

    package func mark(_ seen: [SeenBroadcast]) async -> [Result<Void, StoreError>] {
        await writeEach(seen) { seen, database throws(SQLiteFailure) -> Result<Void, StoreError> in
            try database.run(
                """
                UPDATE subscription SET seen = max(seen, ?5)
                WHERE environment = ?1 AND device = ?2 AND app = ?3 AND channel = ?4
                """,
                seen.subscription.arguments + [Int64(clamping: seen.version.rawValue)])
            return .success(())
        }
    }

    package func maySubscribe(_ device: DeviceKey) -> Bool { subscribedDevices.contains(device) }

    package func subscriptions(of device: DeviceKey) async throws(StoreError) -> [SubscribedChannel] {
        try await read { database throws(SQLiteFailure) in
            try database.rows(
                """
                SELECT channel.id, policy, created, channel.app, seen FROM subscription
                JOIN channel ON channel.environment = subscription.environment AND channel.app = subscription.app
                    AND channel.id = subscription.channel
                WHERE subscription.environment = ? AND device = ?
                """,
                device.arguments,
            ) { row throws(SQLiteFailure) in
                guard let app = UInt32(exactly: row.integer(3)) else { throw .badChannel }
                let list = ChannelList(environment: device.environment, app: AppID(rawValue: app))
                let seen = UInt64(clamping: row.integer(4))
                return SubscribedChannel(
                    channel: try row.channel(in: list), seen: seen == 0 ? nil : BroadcastVersion(rawValue: seen))
            }
        }
    }

    package func removeLeftovers(before moment: Timestamp, limit: Int) async throws(StoreError) -> Int {
        let statements: [(String, StatementArguments)] = [
            (
                """
                DELETE FROM channel WHERE (environment, app, id) IN (
                    SELECT environment, app, id FROM channel WHERE app NOT IN (SELECT id FROM app) LIMIT ?)
                """, []
            ),
            (
                """
                DELETE FROM broadcast WHERE (environment, app, channel) IN (
                    SELECT environment, app, channel FROM broadcast WHERE expires < ?
                    UNION ALL SELECT environment, app, channel FROM broadcast WHERE NOT EXISTS (
                        SELECT 1 FROM channel WHERE (channel.environment, channel.app, channel.id)
                            = (broadcast.environment, broadcast.app, broadcast.channel))
                    LIMIT ?)
                """, [moment.column]
            ),
            (
                """
                DELETE FROM subscription WHERE (environment, device, app, channel) IN (
                    SELECT environment, device, app, channel FROM subscription WHERE NOT EXISTS (
                        SELECT 1 FROM channel WHERE (channel.environment, channel.app, channel.id)
                            = (subscription.environment, subscription.app, subscription.channel))
                    LIMIT ?)
                """, []
            ),
        ]
        // If there is nothing to remove, do not begin a write.
        guard limit > 0,
            try await read({ database throws(SQLiteFailure) in
                try Self.hasLeftovers(before: moment, in: database)
            })
        else { return 0 }
        return try await commits.write(items: limit, undoable: true) {
            database, accepted throws(SQLiteFailure) -> Int in
            var left = accepted
            for (sql, arguments) in statements where left > 0 {
                left -= try database.run(sql, arguments + [left])
            }
            return accepted - left
        } committed: {
            $0
        }.get()
    }

    // MARK: Batches

    /// Writes all items in one transaction, and returns one result for each.
    private func writeEach<Item: Sendable, Value: Sendable>(
        _ items: [Item],
        _ write: @escaping @Sendable (Item, Database) throws(SQLiteFailure) -> Result<Value, StoreError>,
        committed: @escaping @Sendable ([Result<Value, StoreError>]) -> Void = { _ in },
    ) async -> [Result<Value, StoreError>] {
        guard !items.isEmpty else { return [] }
        let outcome = await commits.write(items: items.count, undoable: true) {
            database, accepted throws(SQLiteFailure) -> [Result<Value, StoreError>] in
            var results: [Result<Value, StoreError>] = []
            for item in items.prefix(accepted) { results.append(try write(item, database)) }
            return results
        } committed: { results in
            committed(results)
            return results
        }
        return Self.results(outcome, of: items.count)
    }
}
