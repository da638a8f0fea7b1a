import Delivery
import Foundation
import GRDB
import Notifications
import SQLiteSupport
import Storage

// Reads and writes the rows of broadcast channels, broadcasts and subscriptions.
extension SQLiteStore {
    static func create(
        _ channel: BroadcastChannel,
        limit: Int,
        in database: Database,
    ) throws(SQLiteFailure) -> Result<Void, StoreError> {
        guard try self.channel(channel.key, in: database) == nil else {
            return .failure(.channelExists(channel.key.id))
        }
        let count = try database.firstRow(
            "SELECT count(*) FROM channel WHERE environment = ? AND app = ?", channel.key.list.arguments
        ) { $0.integer(0) }
        guard count ?? 0 < limit else { return .failure(.tooManyChannels(limit)) }
        try database.run(
            "INSERT INTO channel (environment, app, id, policy, created) VALUES (?, ?, ?, ?, ?)",
            channel.key.arguments + [channel.policy.rawValue, channel.created.column])
        return .success(())
    }

    static func channel(_ key: ChannelKey, in database: Database) throws(SQLiteFailure) -> BroadcastChannel? {
        try database.firstRow(
            "SELECT id, policy, created FROM channel WHERE environment = ? AND app = ? AND id = ?", key.arguments
        ) { row throws(SQLiteFailure) in
            try row.channel(in: key.list)
        }
    }

    static func write(_ entry: BroadcastEntry, version: Int64, in database: Database) throws(SQLiteFailure) {
        let notification = entry.notification
        try database.run(
            """
            REPLACE INTO broadcast (
                environment, app, channel, version, expires, id, priority, expiration, contents, push_type, topic, payload
            ) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
            """,
            entry.channel.arguments + [
                version, entry.expires.column, notification.id.column, notification.priority.rawValue,
                notification.expiration.seconds.map { Int64(bitPattern: $0) },
                // fits: a byte
                Int64(notification.payload.contents.rawValue), notification.pushType?.rawValue, notification.topic,
                Data(notification.payload.json),
            ])
    }

    static func stored(_ key: ChannelKey, in database: Database) throws(SQLiteFailure) -> StoredBroadcast? {
        try database.firstRow(
            """
            SELECT version, expires, id, priority, expiration, contents, push_type, topic, payload
            FROM broadcast WHERE environment = ? AND app = ? AND channel = ?
            """,
            key.arguments,
        ) { row throws(SQLiteFailure) in
            guard let stored = row.broadcast(of: key) else { throw .badChannel }
            return stored
        }
    }

    /// Adds a subscription. This happens in the transaction that checks the registration, so that no subscription
    /// outlives its registration.
    static func subscribe(
        _ subscription: Subscription,
        limit: Int,
        at moment: Timestamp,
        in database: Database,
    ) throws(SQLiteFailure) -> Result<Void, StoreError> {
        let registration = try registration(of: subscription.destination, in: database)
        guard let registration, registration.isActive else {
            return .failure(.ended(at: registration?.changed ?? moment))
        }
        guard try channel(subscription.key, in: database) != nil else {
            return .failure(.noChannel(subscription.channel))
        }
        let (others, isThere) =
            try database.firstRow(
                """
                SELECT count(*), coalesce(sum(channel = ?4), 0) FROM subscription
                WHERE environment = ?1 AND device = ?2 AND app = ?3
                """,
                subscription.arguments
            ) { ($0.integer(0), $0.integer(1) > 0) } ?? (0, false)
        guard !isThere else { return .success(()) }
        guard others < limit else { return .failure(.tooManySubscriptions(limit)) }
        try database.run(
            "INSERT INTO subscription (environment, device, app, channel, seen) VALUES (?, ?, ?, ?, 0)",
            subscription.arguments)
        return .success(())
    }

    /// Ends the subscriptions of an app on a device.
    /// - Returns: Whether the device still has other subscriptions.
    static func unsubscribe(_ destination: Destination, in database: Database) throws(SQLiteFailure) -> Bool {
        try database.run(
            "DELETE FROM subscription WHERE environment = ? AND device = ? AND app = ?", destination.arguments)
        return try hasSubscriptions(destination.deviceKey, in: database)
    }

    static func hasSubscriptions(_ device: DeviceKey, in database: Database) throws(SQLiteFailure) -> Bool {
        try database.firstRow(
            "SELECT 1 FROM subscription WHERE environment = ? AND device = ?", device.arguments
        ) { _ in true } ?? false
    }

    static func hasLeftovers(before moment: Timestamp, in database: Database) throws(SQLiteFailure) -> Bool {
        try database.firstRow(
            """
            SELECT EXISTS (SELECT 1 FROM channel WHERE app NOT IN (SELECT id FROM app))
                OR EXISTS (SELECT 1 FROM broadcast WHERE expires < ?)
                OR EXISTS (SELECT 1 FROM subscription WHERE NOT EXISTS (
                    SELECT 1 FROM channel WHERE (channel.environment, channel.app, channel.id)
                        = (subscription.environment, subscription.app, subscription.channel)))
            """,
            [moment.column]
        ) { $0.integer(0) != 0 } ?? false
    }
}

extension SQLiteFailure {
    static let badChannel = SQLiteFailure.damaged("a channel that cannot be")
}

extension ChannelList {
    /// The values of the columns `environment` and `app`.
    var arguments: StatementArguments { [environment.column, app.rawValue] }
}

extension ChannelKey {
    /// The values of the columns `environment`, `app` and `id`.
    var arguments: StatementArguments { list.arguments + [id.rawValue] }
}

extension Subscription {
    /// The values of the columns `environment`, `device`, `app` and `channel`.
    var arguments: StatementArguments { destination.arguments + [channel.rawValue] }
}

extension Row {
    /// Reads a row that begins with the columns id, policy and created.
    func channel(in list: ChannelList) throws(SQLiteFailure) -> BroadcastChannel {
        guard let id = ChannelID(rawValue: text(0)),
            let policy = UInt8(exactly: integer(1)).flatMap(MessageStoragePolicy.init(rawValue:))
        else { throw .badChannel }
        return BroadcastChannel(
            key: ChannelKey(list: list, id: id), policy: policy, created: Timestamp(column: integer(2)))
    }

    /// Reads a stored broadcast; nil if this store did not write the row.
    fileprivate func broadcast(of key: ChannelKey) -> StoredBroadcast? {
        let notification = Notification(
            stored: NotificationID(column: blob(2)), priority: integer(3), expiration: optionalInteger(4),
            contents: integer(5), pushType: textUnlessNull(6), topic: text(7), collapseID: nil, payload: Array(blob(8)))
        guard let version = UInt64(exactly: integer(0)), let notification else { return nil }
        return StoredBroadcast(
            entry: BroadcastEntry(channel: key, notification: notification, expires: Timestamp(column: integer(1))),
            version: BroadcastVersion(rawValue: version))
    }
}
