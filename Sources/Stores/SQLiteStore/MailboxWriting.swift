import Delivery
import GRDB
import Notifications
import SQLiteSupport
import Storage

import struct Foundation.Data

/// Puts notifications into mailboxes, within a transaction.
///
/// The present contents of a mailbox are read first, because the delivery log records which notification is replaced.
/// Then the row is updated in place. SQLite's REPLACE would delete the row and insert a new one.
///
/// Text from outside is bound as bytes, because ``BoundStatement/bind(_:at:)`` ends text at a NUL character.
struct MailboxWriting {
    private let database: Database
    private var statements: Statements
    /// The notifications that were replaced.
    private(set) var ended: [EndedNotification] = []
    /// How many notifications the apps keep that keep more than one.
    private let keeping: [AppID: Int]

    init(_ database: Database, keeping: [AppID: Int] = [:]) throws(SQLiteFailure) {
        self.database = database
        self.keeping = keeping
        statements = try Statements(database)
    }

    /// Stores the entries. An entry has its own error if its app is not on the device, or if SQLite refuses its
    /// values; the others are stored nevertheless.
    ///
    /// - Parameters:
    ///   - registrations: the registrations of the entries, as this transaction sees them.
    ///   - firstVersion: the version of the first entry. Each following entry has the next version.
    ///   - now: the time that the error names if an app is not registered.
    mutating func store(
        _ entries: ArraySlice<MailboxEntry>,
        of registrations: [Registration?],
        firstVersion: UInt64,
        now: Timestamp,
    ) throws(SQLiteFailure) -> [Result<MailboxVersion, StoreError>] {
        var results = registrations.enumerated().map { number, registration -> Result<MailboxVersion, StoreError> in
            guard let registration, registration.isActive else {
                return .failure(.ended(at: registration?.changed ?? now))
            }
            return .success(MailboxVersion(rawValue: firstVersion + UInt64(number)))  // fits: an index
        }
        for place in Self.places(of: entries) {
            let number = place.index - entries.startIndex  // fits: an index of the entries
            guard case .success(let next) = results[number] else { continue }
            do throws(SQLiteFailure) {
                if entries[place.index].destination.isSubscription {
                    results[number] = try storeMessage(entries[place.index], number: next.rawValue, now)
                    continue
                }
                if !keeping.isEmpty, let keep = keeping[entries[place.index].destination.app] {
                    var kept = KeptWriting(database)
                    let version = try kept.store(entries[place.index], number: next.rawValue, .app(keep: keep))
                    results[number] = .success(version)
                    ended += kept.ended
                    continue
                }
                try store(entries[place.index], version: firstVersion + UInt64(number))  // fits: an index
            } catch  where !error.endsTransaction {
                results[number] = .failure(error.storeError)
                // A statement that failed cannot be run again, so prepare them anew.
                statements = try Statements(database)
            }
        }
        return results
    }

    /// Stores a message of Web Push.
    private mutating func storeMessage(
        _ entry: MailboxEntry,
        number: UInt64,
        _ now: Timestamp,
    ) throws(SQLiteFailure) -> Result<MailboxVersion, StoreError> {
        guard try SQLiteStore.hasSubscription(entry.destination, in: database) else {
            return .failure(.noSubscription(at: now))
        }
        var kept = KeptWriting(database)
        let version = try kept.store(entry, number: number, .subscription)
        ended += kept.ended
        return .success(version)
    }

    private mutating func store(_ entry: MailboxEntry, version: UInt64) throws(SQLiteFailure) {
        let held = try held(before: entry)
        let statement = held == nil ? statements.insertion : statements.update
        try statement.bind(entry, version: version)
        try statement.run(in: database)
        if let replaced = held?.replaced { ended.append(replaced) }
    }

    /// The contents of a mailbox before an entry is written; nil if it is empty.
    private func held(before entry: MailboxEntry) throws(SQLiteFailure) -> Held? {
        let newer = entry.notification
        try statements.held.bind(entry.destination)
        return try statements.held.firstRow(in: database) { row in
            guard let id = NotificationID(column: row.bytes(0)), id != newer.id else { return Held(replaced: nil) }
            let isCoalesced = newer.collapseID.map { Data($0.rawValue.utf8) == row.bytes(2) } ?? false
            return Held(
                replaced: EndedNotification(
                    id: id,
                    destination: entry.destination,
                    topic: String(decoding: row.bytes(1), as: UTF8.self),
                    step: isCoalesced ? .coalesced(into: newer.id) : .replaced(by: newer.id),
                ))
        }
    }

    private struct Held {
        /// The notification that was replaced; nil if the mailbox was empty or had the same notification.
        let replaced: EndedNotification?
    }
}

extension MailboxWriting {
    /// An estimate of the pages of 4 KiB that an entry writes: one of the table, one of the index, and those of a
    /// payload that is too large for the page of its row.
    static func pages(of entry: MailboxEntry) -> Int {
        GroupCommit.pagesPerItem + (entry.notification.payload.json.count + 3500) / 4096
    }

    /// The same for an entry of a mailbox that keeps more, which usually removes another, and has a second index.
    static func pages(of entry: MailboxEntry, isKept: Bool) -> Int { (isKept ? 3 : 1) * pages(of: entry) }
}

// MARK: - The order

extension MailboxWriting {
    /// The position in the table to which an entry belongs.
    private struct Place {
        let index: Int
        let environment: Int64
        let device: Int64
        let app: UInt32
    }

    /// The entries in the order of the table, so that entries on the same page are written together. Several entries
    /// of one mailbox keep their order.
    private static func places(of entries: ArraySlice<MailboxEntry>) -> [Place] {
        var places: [Place] = []
        places.reserveCapacity(entries.count)
        for index in entries.indices {
            let destination = entries[index].destination
            places.append(
                Place(
                    index: index,
                    environment: destination.environment.column,
                    device: destination.device.column,
                    app: destination.app.rawValue,
                ))
        }
        places.sort { lhs, rhs in
            // Compare the devices first, because they nearly always differ.
            guard lhs.device == rhs.device, lhs.environment == rhs.environment else {
                return (lhs.environment, lhs.device) < (rhs.environment, rhs.device)
            }
            return (lhs.app, lhs.index) < (rhs.app, rhs.index)
        }
        return places
    }
}

// MARK: - The statements

extension MailboxWriting {
    private struct Statements {
        let held: BoundStatement
        let insertion: BoundStatement
        let update: BoundStatement

        init(_ database: Database) throws(SQLiteFailure) {
            held = try BoundStatement(
                "SELECT id, topic, collapse_id FROM mailbox WHERE environment = ?1 AND device = ?2 AND app = ?3",
                in: database)
            insertion = try BoundStatement(
                """
                INSERT INTO mailbox (
                    environment, device, app, version, expires, id, priority, expiration, contents, push_type, topic,
                    collapse_id, payload
                ) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, CAST(?11 AS TEXT), CAST(?12 AS TEXT), ?13)
                """,
                in: database)
            update = try BoundStatement(
                """
                UPDATE mailbox SET
                    version = ?4, expires = ?5, id = ?6, priority = ?7, expiration = ?8, contents = ?9,
                    push_type = ?10, topic = CAST(?11 AS TEXT), collapse_id = CAST(?12 AS TEXT), payload = ?13
                WHERE environment = ?1 AND device = ?2 AND app = ?3
                """,
                in: database)
        }
    }
}

extension BoundStatement {
    /// The columns `environment`, `device` and `app`.
    fileprivate func bind(_ destination: Destination) throws(SQLiteFailure) {
        try bind(destination.environment.column, at: 1)
        try bind(destination.device.column, at: 2)
        try bind(Int64(destination.app.rawValue), at: 3)  // fits: 32 bits
    }

    /// All columns of a mailbox.
    fileprivate func bind(_ entry: MailboxEntry, version: UInt64) throws(SQLiteFailure) {
        let notification = entry.notification
        reset()
        try bind(entry.destination)
        try bind(Int64(clamping: version), at: 4)
        try bind(entry.expires.column, at: 5)
        try bind(notification.id.column, at: 6)
        try bind(Int64(notification.priority.rawValue), at: 7)  // fits: a byte
        // SQLite's integers have a sign, so store the bits. Reading converts them back, and the device gets the
        // provider's value.
        try bind(notification.expiration.seconds.map { Int64(bitPattern: $0) }, at: 8)
        try bind(Int64(notification.payload.contents.rawValue), at: 9)  // fits: a byte
        try bind(StoredPushType(notification).text, at: 10)
        try bind(Data(notification.topic.utf8), at: 11)
        try bind((notification.collapseID?.rawValue.utf8).map { Data($0) }, at: 12)
        try bind(Data(notification.payload.json), at: 13)
    }
}
