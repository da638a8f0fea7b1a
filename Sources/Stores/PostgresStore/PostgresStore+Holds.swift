package import Delivery
import Notifications
import PostgresClient
import PostgresSupport
package import Storage
import Synchronization

// A device's row says which node holds the device. Each announcement has a row of its own, with the node that it is
// for in the key. So each node finds its announcements by an index.
extension PostgresStore: DeviceHolds {
    package var holdTerm: UInt64 { lease.withLock { $0.holdTerm(at: .now) } }

    package func claim(_ devices: [DeviceKey]) async throws(StoreError) -> [DeviceHold] {
        var result: [DeviceHold] = []
        let keys = Array(Set(devices))
        let arrays: [PostgresValue] = [
            .integers(keys.map { $0.device.column }), .integers(keys.map { $0.environment.column }),
        ]
        let node = PostgresValue.bytes(configuration.node.identity)
        let answers = try await Self.execute(
            [
                PostgresStatement(
                    """
                    INSERT INTO carillon.device (device, environment)
                    SELECT * FROM unnest($1::bigint[], $2::bigint[]) AS item (device, environment)
                    ORDER BY device, environment ON CONFLICT DO NOTHING
                    """, arrays),
                // Lock the rows in a statement of their own. In the next one, PostgreSQL would compare the nodes before
                // it has waited for a node that takes the device at the same time, and would not tell that node.
                PostgresStatement(
                    """
                    SELECT 1 FROM unnest($1::bigint[], $2::bigint[]) AS item (device, environment)
                    JOIN carillon.device AS d ON d.device = item.device AND d.environment = item.environment
                    ORDER BY d.device, d.environment FOR NO KEY UPDATE OF d
                    """, arrays),
                PostgresStatement(
                    """
                    INSERT INTO carillon.announcement (node, device, environment, app, epoch)
                    SELECT d.node, d.device, d.environment, -1, d.epoch + 1
                    FROM unnest($1::bigint[], $2::bigint[]) AS item (device, environment)
                    JOIN carillon.device AS d ON d.device = item.device AND d.environment = item.environment
                    WHERE d.node <> $3
                    ORDER BY d.node, d.device, d.environment
                    ON CONFLICT (node, device, environment, app) DO UPDATE SET epoch = excluded.epoch
                    """, arrays + [node]),
                PostgresStatement(
                    """
                    UPDATE carillon.device AS d SET node = $3, epoch = d.epoch + 1
                    FROM unnest($1::bigint[], $2::bigint[]) AS item (device, environment)
                    WHERE d.device = item.device AND d.environment = item.environment
                    RETURNING d.device, d.environment, d.epoch, (extract(epoch FROM clock_timestamp()) * 1000)::bigint
                    """, arrays + [node]),
            ], on: writers[0])
        for index in 0..<(answers.last?.count ?? 0) {
            guard let row = answers.last?[index], let device = row.integer(0),
                let environment = row.integer(1).flatMap(Environment.init(column:)),
                let epoch = row.integer(2).flatMap(UInt64.init(exactly:)), let time = row.moment(3)
            else { throw PostgresError.damaged("a device").storeError }
            result.append(
                DeviceHold(
                    device: DeviceKey(environment: environment, device: DeviceID(column: device)), epoch: epoch,
                    previousNumber: DeviceHold.previousNumber(at: time)))
        }
        return result
    }

    package func release(_ holds: [DeviceHold]) async throws(StoreError) {
        _ = try await Self.execute(
            [
                PostgresStatement(
                    """
                    UPDATE carillon.device AS d SET node = NULL FROM (
                        SELECT d.device, d.environment
                        FROM unnest($1::bigint[], $2::bigint[], $3::bigint[]) AS item (device, environment, epoch)
                        JOIN carillon.device AS d ON d.device = item.device AND d.environment = item.environment
                            AND d.epoch = item.epoch AND d.node = $4
                        ORDER BY d.device, d.environment FOR NO KEY UPDATE OF d
                    ) AS held
                    WHERE d.device = held.device AND d.environment = held.environment
                    """,
                    [
                        .integers(holds.map { $0.device.device.column }),
                        .integers(holds.map { $0.device.environment.column }),
                        .integers(holds.map { Int64(clamping: $0.epoch) }), .bytes(configuration.node.identity),
                    ])
            ], on: writers[0])
    }

    package func drainAnnouncements(limit: Int) async throws(StoreError) -> [Announcement] {
        let repeated = announcementsInRemoval.withLock { $0 }
        let page: Set<Announcement>
        if repeated.isEmpty {
            // Announcements that are not committed yet are read the next time.
            page = Set(
                try Self.announcements(
                    try await read(
                        "SELECT device, environment, app, epoch FROM carillon.announcement WHERE node = $1 LIMIT $2",
                        [.bytes(configuration.node.identity), .integer(Int64(clamping: limit))])))
            guard !page.isEmpty else { return [] }
            announcementsInRemoval.withLock { $0 = page }
        } else {
            page = repeated
        }
        let removed = try await remove(page)
        announcementsInRemoval.withLock { $0 = [] }
        // The first removal may have been executed without an answer.
        return removed + repeated.subtracting(removed)
    }

    /// Removes announcements, also if they were changed since they were read.
    /// - Returns: Those that were removed, as they are now. One that is being changed stays.
    private func remove(_ announcements: Set<Announcement>) async throws(StoreError) -> [Announcement] {
        let keys = announcements.map(\.key)
        let answers = try await Self.execute(
            [
                PostgresStatement(
                    """
                    DELETE FROM carillon.announcement AS a USING (
                        SELECT a.device, a.environment, a.app
                        FROM unnest($2::bigint[], $3::bigint[], $4::bigint[]) AS item (device, environment, app)
                        JOIN carillon.announcement AS a ON a.node = $1 AND a.device = item.device
                            AND a.environment = item.environment AND a.app = item.app
                        FOR UPDATE OF a SKIP LOCKED
                    ) AS page
                    WHERE a.node = $1 AND a.device = page.device AND a.environment = page.environment
                        AND a.app = page.app
                    RETURNING a.device, a.environment, a.app, a.epoch
                    """,
                    [
                        .bytes(configuration.node.identity), .integers(keys.map { $0.device.device.column }),
                        .integers(keys.map { $0.device.environment.column }), .integers(keys.map(\.app)),
                    ])
            ], on: writers[0])
        return try answers.first.map(Self.announcements) ?? []
    }

    private static func announcements(_ rows: PostgresRows) throws(StoreError) -> [Announcement] {
        try rows.map { row throws(StoreError) in
            if let destination = row.destination(0) { return .changed(destination) }
            if let destination = row.endedDestination(0) { return .ended(destination) }
            guard let device = row.integer(0), let environment = row.integer(1).flatMap(Environment.init(column:)),
                let epoch = row.integer(3).flatMap(UInt64.init(exactly:))
            else { throw PostgresError.damaged("an announcement").storeError }
            return .claimed(
                DeviceKey(environment: environment, device: DeviceID(column: device)), epoch: epoch)
        }
    }

    /// Announces to the node that holds a device that the registration of an app has ended.
    /// - Parameter app: nil for all apps.
    func announcingEnd(of app: AppID?, on device: DeviceKey) -> PostgresStatement {
        PostgresStatement(
            """
            INSERT INTO carillon.announcement (node, device, environment, app, epoch)
            SELECT d.node, d.device, d.environment, -2 - item.app, d.epoch
            FROM carillon.device AS d
            JOIN carillon.destination AS item ON item.device = d.device AND item.environment = d.environment
            WHERE d.device = $1 AND d.environment = $2 AND d.node <> $3 AND ($4::bigint IS NULL OR item.app = $4)
            ORDER BY d.node, d.device, d.environment, -2 - item.app
            ON CONFLICT (node, device, environment, app) DO UPDATE SET epoch = excluded.epoch
            """, device.values + [.bytes(configuration.node.identity), .integer(app?.column)])
    }

    /// Announces changes of these destinations to the nodes that hold their devices. It must come after the statement
    /// that changes and locks the destinations. So a node that takes one of the devices afterwards waits for these
    /// locks when it reads the mailboxes, and does not miss the change.
    func announcing(_ destinations: [Destination]) -> PostgresStatement {
        PostgresStatement(
            """
            INSERT INTO carillon.announcement (node, device, environment, app, epoch)
            SELECT d.node, d.device, d.environment, item.app, d.epoch
            FROM unnest($1::bigint[], $2::bigint[], $3::bigint[]) AS item (device, environment, app)
            JOIN carillon.device AS d ON d.device = item.device AND d.environment = item.environment
            WHERE d.node <> $4
            ORDER BY d.node, d.device, d.environment, item.app
            ON CONFLICT (node, device, environment, app) DO UPDATE SET epoch = excluded.epoch
            RETURNING device, environment, node, epoch
            """, destinations.values + [.bytes(configuration.node.identity)])
    }

    /// Remembers where the devices are, by the answer to ``announcing(_:)``: the next notification can go there directly.
    func recordWhereabouts(_ rows: PostgresRows) {
        for index in 0..<rows.count {
            guard let device = rows[index].integer(0),
                let environment = rows[index].integer(1).flatMap(Environment.init(column:)),
                let node = rows[index].bytes(2), let epoch = rows[index].integer(3).flatMap(UInt64.init(exactly:))
            else { continue }
            whereabouts.record(
                DeviceKey(environment: environment, device: DeviceID(column: device)),
                DeviceWhereabouts.Place(node: NodeID(bytes: node), epoch: epoch))
        }
    }
}

extension Announcement {
    /// The device and the number in the column `app`.
    fileprivate var key: (device: DeviceKey, app: Int64) {
        switch self {
        case .changed(let destination): (destination.deviceKey, destination.app.column)
        case .ended(let destination): (destination.deviceKey, -2 - destination.app.column)
        case .claimed(let device, _): (device, -1)
        }
    }
}
