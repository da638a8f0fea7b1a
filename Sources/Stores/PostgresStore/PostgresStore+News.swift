package import Delivery
import Notifications
import PostgresClient
import PostgresSupport
package import Storage
import Synchronization

extension PostgresStore: ChannelNews {
    package func changes(
        after position: BroadcastVersion,
        limit: Int,
    ) async throws(StoreError) -> ChannelChanges {
        let newest: BroadcastVersion
        do throws(PostgresError) {
            newest = try await Self.newestChange(on: reader)
        } catch {
            throw error.storeError
        }
        if newest.rawValue > 0 { hasHeardOfChannels.store(true, ordering: .relaxed) }
        // Nearly always, nothing has changed. The newest number is smaller than the position if the database has lost
        // its last transactions in a failover. All that this node knows may then be wrong.
        guard newest > position else {
            return ChannelChanges(position: newest, isComplete: newest == position, changes: [], hasMore: false)
        }
        let rows = try await read(
            """
            SELECT channel, version, expires, id, priority, expiration, contents, push_type, topic, NULL::bytea,
                payload, app, environment
            FROM carillon.broadcast WHERE version > $1 AND node <> $2 ORDER BY version LIMIT $3
            """,
            [
                .integer(Int64(clamping: position.rawValue)), .bytes(configuration.node.identity),
                .integer(Int64(clamping: limit)),
            ])
        let changes = try rows.map { row throws(StoreError) -> (BroadcastVersion, ChannelChange) in
            guard let id = row.text(0).flatMap(ChannelID.init(rawValue:)), let version = row.version(1),
                let app = row.integer(11).flatMap(AppID.init(column:)),
                let environment = row.integer(12).flatMap(Environment.init(column:))
            else { throw PostgresError.damaged("a broadcast").storeError }
            let key = ChannelKey(list: ChannelList(environment: environment, app: app), id: id)
            guard !row.isNull(10) else { return (version, .removed(key)) }
            guard let stored = row.broadcast(of: key) else { throw PostgresError.damaged("a broadcast").storeError }
            return (version, .stored(stored))
        }
        // A full page ends at its last change. Otherwise everything up to `newest` is in it: changes become visible in
        // the order of their numbers, and `newest` was read before. A change that came since may be in it too.
        let hasMore = changes.count == limit
        let last = changes.last?.0 ?? newest
        return ChannelChanges(
            position: hasMore ? last : max(newest, last), isComplete: true, changes: changes.map(\.1), hasMore: hasMore)
    }

    static func newestChange(on connection: PostgresConnection) async throws(PostgresError) -> BroadcastVersion {
        let rows = try await connection.execute("SELECT last FROM carillon.channel_change WHERE is_only")
        guard let row = rows.first else { return BroadcastVersion(rawValue: 0) }
        guard let version = row.version(0) else { throw .damaged("a number of a change") }
        return version
    }
}
