import Delivery
import GRDB
import Notifications
import SQLiteSupport
import Storage

import struct Foundation.Data

/// Writes and reads the contents of mailboxes that keep more than one notification
/// (docs/decisions/0095-mailboxes-that-keep-more.md).
struct KeptWriting {
    private let database: Database
    /// The notifications that were removed.
    private(set) var ended: [EndedNotification] = []

    init(_ database: Database) { self.database = database }

    /// How many notifications are dropped at most when one is stored. It is more than one only after the bound has become
    /// less, and ``fit(_:_:)`` drops the rest: a transaction stays small.
    private static let droppedAtOnce = 16

    /// Stores a notification behind the others. One that is there already stays at its place.
    /// - Parameter number: a number for its version, greater than all in use.
    mutating func store(
        _ entry: MailboxEntry,
        number: UInt64,
        _ bound: MailboxBound,
    ) throws(SQLiteFailure) -> MailboxVersion {
        if !entry.destination.isSubscription { try adoptNewest(of: entry.destination) }
        var held = try held(before: entry)
        if let same = held.same { return MailboxVersion(kept: same) }
        // First, because nothing else may change if it fails.
        try Self.insert(entry, number: number, in: database)
        (held.count, held.bytes) = (held.count + 1, held.bytes + entry.notification.countedBytes)
        if let collapseID = entry.notification.collapseID {
            let removed = try remove(
                "collapse_id = CAST(? AS TEXT) AND version < ?",
                [Data(collapseID.rawValue.utf8), Int64(clamping: number)], of: entry.destination)
            for (notification, bytes) in removed {
                (held.count, held.bytes) = (held.count - 1, held.bytes - bytes)
                record(notification, of: entry.destination, .coalesced(into: entry.notification.id))
            }
        }
        try drop(beyond: bound, held, of: entry.destination, limit: Self.droppedAtOnce)
        return MailboxVersion(kept: number)
    }

    /// Makes a mailbox fit into its bound. One that keeps a single notification gets back its row in the other table.
    /// - Returns: Whether it fits. If not, this has to be done again: a transaction stays small.
    mutating func fit(_ destination: Destination, _ bound: MailboxBound) throws(SQLiteFailure) -> Bool {
        if bound.count > 1 { try adoptNewest(of: destination) }
        let held = try database.firstRow(
            "SELECT count(*), coalesce(sum(bytes), 0), max(version) FROM kept WHERE \(Self.place)",
            destination.place
        ) { (count: Int(clamping: $0.integer(0)), bytes: Int(clamping: $0.integer(1)), newest: $0.integer(2)) }
        guard let held, held.count > 0 else { return true }
        let left = try drop(
            beyond: bound, Held(count: held.count, bytes: held.bytes), of: destination, limit: Self.droppedInSteps)
        guard left.count <= bound.count, left.bytes <= bound.bytes else { return false }
        if bound.count == 1 { try keepNewest(held.newest, of: destination) }
        return true
    }

    /// How many notifications are dropped in one transaction if the bound has become less.
    private static let droppedInSteps = 100

    /// What a mailbox holds before a notification is stored.
    private struct Held {
        var count = 0
        var bytes = 0
        /// The number of the same notification's version, if it is there already.
        var same: UInt64?
    }

    /// The condition for the rows of one mailbox; see ``Destination/place``.
    private static let place = "environment = ? AND device = ? AND app = ? AND queue = ?"

    private func held(before entry: MailboxEntry) throws(SQLiteFailure) -> Held {
        let row = try database.firstRow(
            """
            SELECT count(*), coalesce(sum(bytes), 0), max(CASE WHEN id = ? THEN version END) FROM kept WHERE \(Self.place)
            """, [entry.notification.id.column] + entry.destination.place
        ) { row in
            (
                Held(count: Int(clamping: row.integer(0)), bytes: Int(clamping: row.integer(1))),
                row.hasNull(atIndex: 2) ? nil : row.integer(2)
            )
        }
        guard let (counted, version) = row else { return Held() }
        var held = counted
        // A provider may use an identifier for different notifications: all of them are kept.
        if let version {
            let payload = Data(entry.notification.payload.json)
            let isSame = try database.firstRow(
                "SELECT 1 FROM kept WHERE \(Self.place) AND version = ? AND payload = ?",
                entry.destination.place + [version, payload]
            ) { _ in true }
            if isSame == true { held.same = UInt64(exactly: version) }
        }
        return held
    }

    /// - Returns: What is left.
    @discardableResult
    private mutating func drop(
        beyond bound: MailboxBound,
        _ held: Held,
        of destination: Destination,
        limit: Int,
    ) throws(SQLiteFailure) -> Held {
        var (held, dropped) = (held, 0)
        while held.count > 1, held.count > bound.count || held.bytes > bound.bytes, dropped < limit {
            let oldest = try remove(
                "version = (SELECT min(version) FROM kept WHERE \(Self.place))", destination.place, of: destination)
            guard let (notification, bytes) = oldest.first else { return held }
            (held.count, held.bytes, dropped) = (held.count - 1, held.bytes - bytes, dropped + 1)
            record(notification, of: destination, .dropped)
        }
        return held
    }

    private typealias Removed = (notification: (id: NotificationID, topic: String), bytes: Int)

    private func remove(
        _ condition: String,
        _ values: StatementArguments,
        of destination: Destination,
    ) throws(SQLiteFailure) -> [Removed] {
        try database.rows(
            "DELETE FROM kept WHERE \(Self.place) AND \(condition) RETURNING id, topic, bytes",
            destination.place + values
        ) { row in
            // A damaged identifier must not stop the removal of others.
            let id = NotificationID(column: row.blob(0)) ?? NotificationID(high: 0, low: 0)
            return ((id, row.text(1)), Int(clamping: row.integer(2)))
        }
    }

    private mutating func record(
        _ notification: (id: NotificationID, topic: String),
        of destination: Destination,
        _ step: DeliveryStep,
    ) {
        if case .coalesced(notification.id) = step { return }
        ended.append(
            EndedNotification(id: notification.id, destination: destination, topic: notification.topic, step: step))
    }
}

// MARK: - Between the tables

extension KeptWriting {
    private static let columns =
        "version, expires, id, priority, expiration, contents, push_type, topic, collapse_id, payload"

    /// Moves the contents of a mailbox that kept only the newest so far.
    private func adoptNewest(of destination: Destination) throws(SQLiteFailure) {
        let moved = try database.run(
            """
            INSERT INTO kept (environment, device, app, \(Self.columns), bytes)
            SELECT environment, device, app, \(Self.columns), length(payload) FROM mailbox
            WHERE environment = ? AND device = ? AND app = ?
            """, destination.arguments)
        guard moved > 0 else { return }
        try database.run("DELETE FROM mailbox WHERE environment = ? AND device = ? AND app = ?", destination.arguments)
    }

    /// Moves the one notification that is left, unless a newer one is there.
    private mutating func keepNewest(_ version: Int64, of destination: Destination) throws(SQLiteFailure) {
        let present = try database.firstRow(
            "SELECT version, id, topic FROM mailbox WHERE environment = ? AND device = ? AND app = ?",
            destination.arguments
        ) { row in
            let id = NotificationID(column: row.blob(1)) ?? NotificationID(high: 0, low: 0)
            return (version: row.integer(0), notification: (id: id, topic: row.text(2)))
        }
        if present.map({ $0.version < version }) ?? true {
            if let present { record(present.notification, of: destination, .dropped) }
            try database.run(
                """
                REPLACE INTO mailbox (environment, device, app, \(Self.columns))
                SELECT environment, device, app, \(Self.columns) FROM kept WHERE \(Self.place) AND version = ?
                """, destination.place + [version])
            try database.run(
                "DELETE FROM kept WHERE \(Self.place) AND version = ?", destination.place + [version])
        }
        for (notification, _) in try remove("true", [], of: destination) {
            record(notification, of: destination, .dropped)
        }
    }
}

// MARK: - Rows

extension KeptWriting {
    static func insert(_ entry: MailboxEntry, number: UInt64, in database: Database) throws(SQLiteFailure) {
        try database.run(
            """
            INSERT INTO kept (environment, device, app, queue, \(columns), bytes)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, CAST(? AS TEXT), CAST(? AS TEXT), ?, ?)
            """,
            entry.destination.place + [
                Int64(clamping: number), entry.expires.column,
            ] + entry.notification.arguments + [entry.notification.countedBytes])
    }

    /// Removes a notification that is not in the other table under this version.
    static func remove(_ reference: MailboxReference, in database: Database) throws(SQLiteFailure) -> Bool {
        let version: StatementArguments = [Int64(bitPattern: reference.version.number)]
        if try database.run(
            "DELETE FROM kept WHERE \(place) AND version = ?", reference.destination.place + version) > 0
        {
            return true
        }
        // It was moved when its app began to keep one.
        guard reference.version.isKept, !reference.destination.isSubscription else { return false }
        return try database.run(
            "DELETE FROM mailbox WHERE environment = ? AND device = ? AND app = ? AND version = ?",
            reference.destination.arguments + version) > 0
    }

    /// Empties the mailbox of an app that is no longer on the device, with those of its subscriptions; or that of one
    /// subscription.
    static func empty(
        _ destination: Destination,
        in database: Database,
    ) throws(SQLiteFailure) -> [EndedNotification] {
        try database.rows(
            """
            DELETE FROM kept WHERE environment = ?1 AND device = ?2 AND app = ?3 AND (?4 = 0 OR queue = ?4)
            RETURNING environment, device, app, id, topic
            """, destination.place
        ) { row throws(SQLiteFailure) in
            try row.endedNotification(.discarded(.unregistered))
        }
    }

    /// Removes a notification by its identifier.
    /// - Returns: its version, and what to record; nil if it is not there.
    static func withdraw(
        _ id: NotificationID,
        from destination: Destination,
        in database: Database,
    ) throws(SQLiteFailure) -> (version: MailboxVersion, ended: EndedNotification)? {
        try database.firstRow(
            "DELETE FROM kept WHERE \(place) AND id = ? RETURNING version, topic", destination.place + [id.column]
        ) { row in
            let ended = EndedNotification(
                id: id, destination: destination, topic: row.text(1), step: .discarded(.withdrawn))
            return (MailboxVersion(kept: UInt64(clamping: row.integer(0))), ended)
        }
    }

    /// - Parameter condition: for the column `expires`, and perhaps `app`.
    static func removeExpired(
        _ condition: String,
        _ values: StatementArguments,
        limit: Int,
        in database: Database,
    ) throws(SQLiteFailure) -> [EndedNotification] {
        try database.rows(
            """
            DELETE FROM kept WHERE rowid IN (SELECT rowid FROM kept WHERE \(condition) ORDER BY expires LIMIT ?)
            RETURNING environment, device, app, id, topic
            """, values + [limit]
        ) { row throws(SQLiteFailure) in
            try row.endedNotification(.expired)
        }
    }

    /// Mailboxes that hold more than their app keeps.
    static func beyondBounds(limit: Int, in database: Database) throws(SQLiteFailure) -> [Destination] {
        try database.rows(
            """
            SELECT kept.environment, kept.device, kept.app FROM kept JOIN app ON app.id = kept.app WHERE kept.queue = 0
            GROUP BY kept.environment, kept.device, kept.app
            HAVING count(*) > CASE WHEN app.keep > 1 THEN app.keep ELSE 0 END OR sum(kept.bytes) > ? LIMIT ?
            """, [MailboxBound.maximumBytes, limit]
        ) { row throws(SQLiteFailure) in
            guard let environment = Environment(column: row.integer(0)), let app = UInt32(exactly: row.integer(2))
            else {
                throw .damaged("a mailbox that is not valid")
            }
            return Destination(
                environment: environment, device: DeviceID(column: row.integer(1)), app: AppID(rawValue: app))
        }
    }

    /// Reads a page of a device's mailboxes, in one state of the database.
    /// - Parameter newest: reads the mailboxes that keep only the newest notification.
    static func page(
        of device: DeviceKey,
        after version: MailboxVersion?,
        in database: Database,
        newest: () throws(SQLiteFailure) -> [StoredMailboxEntry],
    ) throws(SQLiteFailure) -> MailboxPage {
        try database.perform { try $0.beginTransaction(.deferred) }
        // A reader has nothing to undo.
        defer { _ = try? database.perform { try $0.commit() } }
        let newest = try newest()
        let after = Int64(clamping: version?.number ?? 0)
        let kept = try database.rows(
            """
            SELECT app, \(columns), queue FROM kept WHERE rowid IN (
                SELECT rowid FROM kept
                WHERE environment = ? AND device = ? AND version > ? ORDER BY version LIMIT ?
            ) ORDER BY version
            """, device.arguments + [after, MailboxBound.pageCount]
        ) { row throws(SQLiteFailure) in
            try row.keptEntry(of: device)
        }
        guard kept.count == MailboxBound.pageCount, let last = kept.last else {
            return MailboxPage(entries: newest + kept)
        }
        let following = try database.rows(
            """
            SELECT DISTINCT app, queue FROM kept WHERE environment = ? AND device = ? AND version > ?
            """, device.arguments + [Int64(clamping: last.version.number)]
        ) { row in
            DeviceMailbox(
                app: AppID(rawValue: UInt32(clamping: row.integer(0))), queue: UInt32(clamping: row.integer(1)))
        }
        return MailboxPage(
            entries: newest + kept, last: following.isEmpty ? nil : last.version, following: Set(following))
    }

    /// For a copy of the store.
    static func all(
        after reference: MailboxReference?,
        limit: Int,
        in database: Database,
    ) throws(SQLiteFailure) -> [StoredMailboxEntry] {
        let start: StatementArguments =
            reference.map { $0.destination.place + [Int64(clamping: $0.version.number)] } ?? [-1, 0, 0, 0, 0]
        return try database.rows(
            """
            SELECT app, \(columns), queue, environment, device FROM kept
            WHERE (environment, device, app, queue, version) > (?, ?, ?, ?, ?)
            ORDER BY environment, device, app, queue, version LIMIT ?
            """, start + [limit]
        ) { row throws(SQLiteFailure) in
            guard let environment = Environment(column: row.integer(12)) else {
                throw .damaged("a mailbox that is not valid")
            }
            return try row.keptEntry(of: DeviceKey(environment: environment, device: DeviceID(column: row.integer(13))))
        }
    }
}

extension Row {
    /// A row with an app, the columns of a kept notification and its queue.
    fileprivate func keptEntry(of device: DeviceKey) throws(SQLiteFailure) -> StoredMailboxEntry {
        guard var stored = mailboxEntry(of: device) else { throw .damaged("a mailbox of device \(device.device)") }
        guard let queue = UInt32(exactly: integer(11)) else { throw .damaged("a mailbox of device \(device.device)") }
        let app = stored.entry.destination.app
        stored.entry.destination = Destination(
            environment: device.environment, device: device.device, app: app, queue: queue)
        if let number = UInt64(exactly: integer(1)) { stored.version = MailboxVersion(kept: number) }
        return stored
    }
}

extension Destination {
    /// The columns `environment`, `device`, `app` and `queue`.
    var place: StatementArguments { arguments + [Int64(queue)] }  // fits: 32 bits
}
