package import Delivery
import GRDB
import Notifications
import SQLiteSupport
package import Storage
import Synchronization

import struct Foundation.Data

extension SQLiteStore: WebPushSubscriptions {
    package func subscriptions(with digests: [[UInt8]]) async throws(StoreError) -> [WebPushSubscription?] {
        try await read { database throws(SQLiteFailure) in
            var found: [WebPushSubscription?] = []
            for digest in digests {
                found.append(try Self.subscriptions("s.digest = ?", [Data(digest)], in: database).first)
            }
            return found
        }
    }

    package func subscriptions(of app: Destination) async throws(StoreError) -> [WebPushSubscription] {
        try await read { database throws(SQLiteFailure) in
            try Self.subscriptions(Self.ofApp, app.arguments, in: database)
        }
    }

    package func subscribe(
        _ subscription: WebPushSubscription,
        limit: Int,
    ) async throws(StoreError) -> WebPushSubscription {
        let (journal, writing) = (journal, writing)
        return try await commits.write(undoable: true) {
            [self] database, _ throws(SQLiteFailure) -> Result<WebPushSubscription, StoreError> in
            let app = subscription.destination.ofApp
            let registration = writing.registrations(of: [app]).first.flatMap(\.self)
            guard let registration, registration.isActive else {
                return .failure(.ended(at: registration?.changed ?? journal.now))
            }
            let count = try database.firstRow(
                "SELECT count(*), coalesce(max(name = ?), 0) FROM web_push_subscription AS s WHERE \(Self.ofApp)",
                [Data(subscription.name.utf8)] + app.arguments
            ) { (all: $0.integer(0), isThere: $0.integer(1) > 0) }
            guard count?.isThere == true || Int(clamping: count?.all ?? 0) < limit else {
                return .failure(.tooManyWebPushSubscriptions(limit))
            }
            // From now on, a mailbox may keep more than one notification.
            hasKept.store(true, ordering: .releasing)
            try Self.write(subscription, in: database)
            let written = try Self.subscriptions(
                "\(Self.ofApp) AND s.name = ?", app.arguments + [Data(subscription.name.utf8)], in: database)
            guard let written = written.first else { throw .damaged("a subscription") }
            return .success(written)
        } committed: {
            $0
        }.get().get()
    }

    package func endSubscription(
        _ name: String,
        of app: Destination,
    ) async throws(StoreError) -> WebPushSubscription? {
        let journal = journal
        return try await commits.write(undoable: true) {
            database, _ throws(SQLiteFailure) -> (WebPushSubscription, [EndedNotification])? in
            let found = try Self.subscriptions(
                "\(Self.ofApp) AND s.name = ?", app.arguments + [Data(name.utf8)], in: database)
            guard let subscription = found.first else { return nil }
            try database.run(
                """
                DELETE FROM web_push_subscription
                WHERE environment = ? AND device = ? AND app = ? AND queue = ?
                """, subscription.destination.place)
            return (subscription, try KeptWriting.empty(subscription.destination, in: database))
        } committed: { ended -> WebPushSubscription? in
            guard let (subscription, discarded) = ended else { return nil }
            journal.record(discarded)
            return subscription
        }.get()
    }
}

// MARK: - Rows

extension SQLiteStore {
    private static let ofApp = "s.environment = ? AND s.device = ? AND s.app = ?"

    static func hasSubscription(_ destination: Destination, in database: Database) throws(SQLiteFailure) -> Bool {
        try database.firstRow(
            "SELECT 1 FROM web_push_subscription WHERE environment = ? AND device = ? AND app = ? AND queue = ?",
            destination.place
        ) { _ in true } ?? false
    }

    /// Ends all subscriptions of an app. Their queues are emptied with its mailbox.
    static func endSubscriptions(of app: Destination, in database: Database) throws(SQLiteFailure) {
        try database.run(
            "DELETE FROM web_push_subscription WHERE environment = ? AND device = ? AND app = ?", app.arguments)
    }

    static func write(_ subscription: WebPushSubscription, in database: Database) throws(SQLiteFailure) {
        try database.run(
            """
            INSERT INTO web_push_subscription (environment, device, app, queue, name, seed, digest, vapid, plain)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
            ON CONFLICT (environment, device, app, name) DO UPDATE SET vapid = excluded.vapid, plain = excluded.plain
            """,
            subscription.destination.place + [
                Data(subscription.name.utf8), Data(subscription.seed), Data(subscription.digest),
                subscription.vapid.map { Data($0) }, subscription.isPlain ? 1 : 0,
            ])
    }

    /// Returns subscriptions in the order of their places and names, with the generations of their registrations.
    static func subscriptions(
        _ condition: String,
        _ values: StatementArguments,
        limit: Int = .max,
        in database: Database,
    ) throws(SQLiteFailure) -> [WebPushSubscription] {
        try database.rows(
            """
            SELECT s.environment, s.device, s.app, s.queue, s.name, s.seed, s.digest, s.vapid, s.plain, r.generation
            FROM web_push_subscription AS s JOIN registration AS r
                ON r.environment = s.environment AND r.device = s.device AND r.app = s.app
            WHERE \(condition) ORDER BY s.environment, s.device, s.app, s.name LIMIT ?
            """, values + [limit]
        ) { row throws(SQLiteFailure) in
            try row.subscription()
        }
    }
}

extension Row {
    fileprivate func subscription() throws(SQLiteFailure) -> WebPushSubscription {
        guard let environment = Environment(column: integer(0)), let app = UInt32(exactly: integer(2)),
            let queue = UInt32(exactly: integer(3)), let generation = UInt32(exactly: integer(9))
        else { throw .damaged("a subscription of Web Push") }
        return WebPushSubscription(
            destination: Destination(
                environment: environment, device: DeviceID(column: integer(1)), app: AppID(rawValue: app), queue: queue),
            name: String(decoding: blob(4), as: UTF8.self), seed: Array(blob(5)), digest: Array(blob(6)),
            vapid: hasNull(atIndex: 7) ? nil : Array(blob(7)), isPlain: integer(8) > 0, generation: generation)
    }
}
