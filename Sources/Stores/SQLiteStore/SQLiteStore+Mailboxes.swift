package import Delivery
import GRDB
package import Notifications
import SQLiteSupport
package import Storage
import Synchronization

import struct Foundation.Data

extension SQLiteStore: Mailboxes {
    package var isShared: Bool { false }

    package func store(_ entries: [MailboxEntry]) async -> [Result<MailboxVersion, StoreError>] {
        let (versions, journal, writing, accounts) = (mailboxVersions, journal, writing, accounts)
        let kept = accounts.current.keeping
        return await inParts(
            entries,
            pages: kept.isEmpty
                ? { MailboxWriting.pages(of: $0, isKept: $0.destination.isSubscription) }
                : {
                    MailboxWriting.pages(
                        of: $0, isKept: $0.destination.isSubscription || kept[$0.destination.app] != nil)
                }
        ) { [commits, self] part, pages, answer in
            commits.hand(items: part.count, pages: pages, undoable: false) {
                database, accepted throws(SQLiteFailure) in
                let allocation = versions.allocate(accepted)
                if let reservation = allocation.reservation {
                    // fits: counted up from 0
                    try Self.setMeta(.mailboxVersionsReserved, to: Int64(reservation), in: database)
                }
                let entries = part.prefix(accepted)
                let registrations = writing.registrations(of: entries.map(\.destination.ofApp))
                let keeping = accounts.current.keeping
                if !keeping.isEmpty { self.hasKept.store(true, ordering: .releasing) }
                var mailboxes = try MailboxWriting(database, keeping: keeping)
                let results = try mailboxes.store(
                    entries, of: registrations, firstVersion: allocation.first, now: journal.now)
                return (results, mailboxes.ended, allocation.reservation)
            } committed: { results, ended, reservation in
                if let reservation { versions.committed(reservation) }
                journal.record(ended)
                return results
            } answer: {
                answer(Self.results($0, of: part.count))
            }
        }
    }

    package func withdraw(
        _ id: NotificationID,
        from destination: Destination,
    ) async throws(StoreError) -> MailboxVersion? {
        let journal = journal
        return try await commits.write(undoable: true) { database, _ throws(SQLiteFailure) in
            try KeptWriting.withdraw(id, from: destination, in: database)
        } committed: { withdrawn in
            if let withdrawn { journal.record([withdrawn.ended]) }
            return withdrawn?.version
        }.get()
    }

    package func remove(_ references: [MailboxReference]) async -> [Result<MailboxRemoval, StoreError>] {
        await inParts(references, pages: { _ in GroupCommit.pagesPerItem }) { [commits, self] part, pages, answer in
            commits.hand(items: part.count, pages: pages, undoable: false) {
                database, accepted throws(SQLiteFailure) in
                try self.remove(part.prefix(accepted), in: database)
            } committed: {
                $0
            } answer: {
                answer(Self.results($0, of: part.count))
            }
        }
    }

    /// Splits a batch into parts that each fit into one transaction, writes them in their order, and collects the
    /// results.
    private func inParts<Item: Sendable, Value: Sendable>(
        _ items: [Item],
        pages: (Item) -> Int,
        hand: (
            _ part: ArraySlice<Item>, _ pages: Int, _ answer: @escaping @Sendable ([Result<Value, StoreError>]) -> Void
        ) -> Void,
    ) async -> [Result<Value, StoreError>] {
        var parts: [(range: Range<Int>, pages: Int)] = []
        for index in items.indices {
            let pages = pages(items[index])
            if let last = parts.last, last.pages + pages <= GroupCommit.maximumPages {
                parts[parts.count - 1] = (last.range.lowerBound..<index + 1, last.pages + pages)
            } else {
                parts.append((index..<index + 1, pages))
            }
        }
        guard !parts.isEmpty else { return [] }
        let gathered = GatheredResults<Result<Value, StoreError>>(parts: parts.count)
        return await withCheckedContinuation { continuation in
            for (number, part) in parts.enumerated() {
                hand(items[part.range], part.pages) { results in
                    if let all = gathered.add(results, of: number) { continuation.resume(returning: all) }
                }
            }
        }
    }

    package func removeExpired(before moment: Timestamp, limit: Int) async throws(StoreError) -> Int {
        try await removeExpired(limit: limit, "expires < ?", [moment.column])
    }

    package func fitMailboxes(limit: Int) async throws(StoreError) -> Int {
        guard limit > 0, hasKept.load(ordering: .acquiring) else { return 0 }
        let destinations = try await read { database throws(SQLiteFailure) in
            try KeptWriting.beyondBounds(limit: limit, in: database)
        }
        let (accounts, journal) = (accounts, journal)
        for destination in destinations {
            while true {
                let fits = try await commits.write(undoable: true) { database, _ throws(SQLiteFailure) in
                    var kept = KeptWriting(database)
                    let fits = try kept.fit(destination, accounts.current.mailboxBound(of: destination.app))
                    return (fits, kept.ended)
                } committed: { fits, ended in
                    journal.record(ended)
                    return fits
                }.get()
                if fits { break }
            }
        }
        return destinations.count
    }

    package func removeExpired(
        before moment: Timestamp,
        of app: AppID,
        limit: Int,
    ) async throws(StoreError) -> Int {
        try await removeExpired(limit: limit, "expires < ? AND app = ?", [moment.column, app.rawValue])
    }

    private func removeExpired(
        limit: Int,
        _ condition: String,
        _ values: StatementArguments,
    ) async throws(StoreError) -> Int {
        guard limit > 0 else { return 0 }
        let journal = journal
        let hasKept = hasKept.load(ordering: .acquiring)
        return try await commits.write(undoable: true) { database, _ throws(SQLiteFailure) in
            var expired = try database.rows(
                """
                DELETE FROM mailbox WHERE (environment, device, app) IN (
                    SELECT environment, device, app FROM mailbox WHERE \(condition) ORDER BY expires LIMIT ?
                ) RETURNING environment, device, app, id, topic
                """,
                values + [limit],
            ) { row throws(SQLiteFailure) in
                try row.endedNotification(.expired)
            }
            if hasKept, expired.count < limit {
                expired += try KeptWriting.removeExpired(condition, values, limit: limit - expired.count, in: database)
            }
            return expired
        } committed: { expired in
            journal.record(expired)
            return expired.count
        }.get()
    }

    /// Reads on a separate connection, so that the read neither waits for the writer nor delays it. It begins after
    /// the call, so it sees every write that was answered before the call.
    package func entries(of device: DeviceKey) async throws(StoreError) -> [StoredMailboxEntry] {
        try await entriesOfAllPages(of: device)
    }

    package func page(
        of device: DeviceKey,
        after version: MailboxVersion?,
    ) async throws(StoreError) -> MailboxPage {
        let hasKept = hasKept.load(ordering: .acquiring)
        return try await read { database throws(SQLiteFailure) in
            guard hasKept else { return MailboxPage(entries: try Self.entries(of: device, in: database)) }
            return try KeptWriting.page(of: device, after: version, in: database) { () throws(SQLiteFailure) in
                try Self.entries(of: device, in: database)
            }
        }
    }
}

/// Collects the results of a batch's parts, which arrive one after the other.
private final class GatheredResults<Item: Sendable>: Sendable {
    private let parts: Mutex<(results: [[Item]], missing: Int)>

    init(parts: Int) { self.parts = Mutex((Array(repeating: [], count: parts), parts)) }

    /// - Returns: all results, if this was the last part; otherwise nil.
    func add(_ items: [Item], of part: Int) -> [Item]? {
        parts.withLock { parts in
            parts.results[part] = items
            parts.missing -= 1
            return parts.missing == 0 ? Array(parts.results.joined()) : nil
        }
    }
}

// MARK: - Rows

extension SQLiteStore {
    private func remove(
        _ references: ArraySlice<MailboxReference>,
        in database: Database,
    ) throws(SQLiteFailure) -> [Result<MailboxRemoval, StoreError>] {
        var results: [Result<MailboxRemoval, StoreError>] = []
        results.reserveCapacity(references.count)
        for reference in references {
            // A subscription has no row there.
            let removed =
                reference.destination.isSubscription
                ? 0
                : try database.run(
                    "DELETE FROM mailbox WHERE environment = ? AND device = ? AND app = ? AND version = ?",
                    // A damaged version is negative, and is removed as what it is.
                    reference.destination.arguments + [Int64(bitPattern: reference.version.rawValue)],
                )
            var isRemoved = removed > 0
            if !isRemoved, hasKept.load(ordering: .acquiring) {
                isRemoved = try KeptWriting.remove(reference, in: database)
            }
            results.append(.success(isRemoved ? .removed : .superseded))
        }
        return results
    }

    private static func entries(
        of device: DeviceKey,
        in database: Database,
    ) throws(SQLiteFailure) -> [StoredMailboxEntry] {
        try database.rows(
            """
            SELECT app, version, expires, id, priority, expiration, contents, push_type, topic, collapse_id, payload
            FROM mailbox WHERE environment = ? AND device = ? ORDER BY version
            """,
            device.arguments,
        ) { row throws(SQLiteFailure) in
            guard let entry = row.mailboxEntry(of: device) else {
                throw .damaged("a mailbox of device \(device.device)")
            }
            return entry
        }
    }

    /// Empties the mailbox of an app, whichever version it contains, and ends the app's subscriptions.
    /// - Returns: what they contained.
    static func empty(
        _ destination: Destination,
        in database: Database,
    ) throws(SQLiteFailure) -> [EndedNotification] {
        try endSubscriptions(of: destination, in: database)
        return try database.rows(
            """
            DELETE FROM mailbox WHERE environment = ? AND device = ? AND app = ?
            RETURNING environment, device, app, id, topic
            """,
            destination.arguments,
        ) { row throws(SQLiteFailure) in
            try row.endedNotification(.discarded(.unregistered))
        } + KeptWriting.empty(destination, in: database)
    }

    /// The results of all items. Items that were not accepted get the error that there was no room.
    static func results<Value>(
        _ outcome: Result<[Result<Value, StoreError>], StoreError>,
        of count: Int,
    ) -> [Result<Value, StoreError>] {
        switch outcome {
        case .success(let results) where results.count == count: results
        case .success(let results): results + Array(repeating: .failure(.busy), count: count - results.count)
        case .failure(let error): Array(repeating: .failure(error), count: count)
        }
    }
}

extension Row {
    /// A row with the columns environment, device, app, id and topic.
    func endedNotification(_ step: DeliveryStep) throws(SQLiteFailure) -> EndedNotification {
        guard let environment = Environment(column: integer(0)), let app = UInt32(exactly: integer(2)) else {
            throw .damaged("a mailbox that is not valid")
        }
        // A damaged identifier must not stop the removal of other notifications.
        let id = NotificationID(column: blob(3)) ?? NotificationID(high: 0, low: 0)
        let destination = Destination(
            environment: environment, device: DeviceID(column: integer(1)), app: AppID(rawValue: app))
        return EndedNotification(id: id, destination: destination, topic: text(4), step: step)
    }

    /// A row with the columns of a mailbox, from this one on; nil if not even its destination can be read.
    func mailboxEntry(of device: DeviceKey, from first: Int = 0) -> StoredMailboxEntry? {
        guard let app = UInt32(exactly: integer(first)) else { return nil }
        let destination = Destination(
            environment: device.environment, device: device.device, app: AppID(rawValue: app))
        let version = MailboxVersion(rawValue: UInt64(bitPattern: integer(first + 1)))
        let expires = Timestamp(column: integer(first + 2))
        guard let notification = self.notification(from: first) else {
            return .damaged(
                destination, version, id: NotificationID(column: blob(first + 3)), topic: text(first + 8),
                expires: expires)
        }
        return StoredMailboxEntry(
            entry: MailboxEntry(destination: destination, notification: notification, expires: expires),
            version: version)
    }

    /// The notification in the columns of a mailbox, of which the first is the app; nil if this store did not write them.
    private func notification(from first: Int) -> Notification? {
        guard integer(first + 1) >= 0 else { return nil }
        return Notification(
            stored: NotificationID(column: blob(first + 3)), priority: integer(first + 4),
            expiration: optionalInteger(first + 5), contents: integer(first + 6), pushType: textUnlessNull(first + 7),
            topic: text(first + 8), collapseID: textUnlessNull(first + 9), payload: Array(blob(first + 10)))
    }

    /// A damaged column is an empty text, and not NULL.
    func textUnlessNull(_ column: Int) -> String? { hasNull(atIndex: column) ? nil : text(column) }
}
