package import Delivery
import GRDB
package import Notifications

extension SQLiteStore: Mailboxes {
    package func store(_ entries: [MailboxEntry]) async -> [Result<MailboxVersion, StoreError>] {
        guard !entries.isEmpty else { return [] }
        let versions = mailboxVersions
        let outcome = await commits.write(items: entries.count, undoable: false) {
            database, accepted throws(SQLiteFailure) in
            let taken = versions.take(accepted)
            if let reservation = taken.reservation {
                try Self.setMeta(.mailboxVersionsReserved, to: Int64(reservation), in: database)
            }
            let results = try Self.store(entries.prefix(accepted), firstVersion: taken.first, in: database)
            return (results, taken.reservation)
        } committed: { results, reservation in
            if let reservation { versions.committed(reservation) }
            return results
        }
        return Self.results(outcome, of: entries.count)
    }

    package func remove(_ references: [MailboxReference]) async -> [Result<MailboxRemoval, StoreError>] {
        guard !references.isEmpty else { return [] }
        let outcome = await commits.write(items: references.count, undoable: false) {
            database, accepted throws(SQLiteFailure) in
            try Self.remove(references.prefix(accepted), in: database)
        } committed: {
            $0
        }
        return Self.results(outcome, of: references.count)
    }

    package func removeExpired(before moment: Timestamp, limit: Int) async throws(StoreError) -> Int {
        guard limit > 0 else { return 0 }
        return try await commits.write(undoable: true) { database, _ throws(SQLiteFailure) in
            var statement = try PreparedStatement(
                """
                DELETE FROM mailbox WHERE (environment, device, app) IN (
                    SELECT environment, device, app FROM mailbox WHERE expires < ?1 ORDER BY expires LIMIT ?2
                )
                """,
                in: database,
            )
            statement.bind(moment.column, at: 1)
            statement.bind(Int64(limit), at: 2)
            return try statement.run()
        } committed: {
            $0
        }.get()
    }

    /// Reads on a connection of its own, which neither waits for the writer nor holds it up. It begins after the call,
    /// so it sees all that was committed, and so all that was answered, before the call.
    package func entries(of device: DeviceKey) async throws(StoreError) -> [StoredMailboxEntry] {
        try await read { database throws(SQLiteFailure) in
            try Self.entries(of: device, in: database)
        }
    }
}

// MARK: - Rows

extension SQLiteStore {
    /// Stores what it can: an entry whose values SQLite refuses has its own result.
    private static func store(
        _ entries: ArraySlice<MailboxEntry>,
        firstVersion: UInt64,
        in database: Database,
    ) throws(SQLiteFailure) -> [Result<MailboxVersion, StoreError>] {
        var statement = try PreparedStatement(
            """
            REPLACE INTO mailbox (
                environment, device, app, version, expires, id, priority, expiration, contents, push_type, topic,
                collapse_id, payload
            ) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)
            """,
            in: database,
        )
        var results: [Result<MailboxVersion, StoreError>] = []
        results.reserveCapacity(entries.count)
        var version = firstVersion
        for entry in entries {
            do throws(SQLiteFailure) {
                statement.bind(entry, version: version)
                try statement.run()
                results.append(.success(MailboxVersion(rawValue: version)))
            } catch  where !error.endsTransaction {
                results.append(.failure(error.storeError))
            }
            version += 1
        }
        return results
    }

    private static func remove(
        _ references: ArraySlice<MailboxReference>,
        in database: Database,
    ) throws(SQLiteFailure) -> [Result<MailboxRemoval, StoreError>] {
        var statement = try PreparedStatement(
            "DELETE FROM mailbox WHERE environment = ?1 AND device = ?2 AND app = ?3 AND version = ?4",
            in: database,
        )
        var results: [Result<MailboxRemoval, StoreError>] = []
        results.reserveCapacity(references.count)
        for reference in references {
            statement.bind(reference.destination)
            statement.bind(Int64(clamping: reference.version.rawValue), at: 4)
            results.append(.success(try statement.run() > 0 ? .removed : .superseded))
        }
        return results
    }

    private static func entries(
        of device: DeviceKey,
        in database: Database,
    ) throws(SQLiteFailure) -> [StoredMailboxEntry] {
        var statement = try PreparedStatement(
            """
            SELECT app, version, expires, id, priority, expiration, contents, push_type, topic, collapse_id, payload
            FROM mailbox WHERE environment = ?1 AND device = ?2 ORDER BY version
            """,
            in: database,
        )
        statement.bind(device.environment.column, at: 1)
        statement.bind(device.device.column, at: 2)
        var entries: [StoredMailboxEntry] = []
        while try statement.next() {
            guard let entry = statement.mailboxEntry(of: device) else {
                throw SQLiteFailure(code: .SQLITE_CORRUPT, message: "a mailbox of device \(device.device)")
            }
            entries.append(entry)
        }
        return entries
    }

    /// Empties one mailbox, whatever it holds.
    static func empty(_ destination: Destination, in database: Database) throws(SQLiteFailure) {
        var statement = try PreparedStatement(
            "DELETE FROM mailbox WHERE environment = ?1 AND device = ?2 AND app = ?3",
            in: database,
        )
        statement.bind(destination)
        try statement.run()
    }

    /// The results of the items that were taken, and for the rest that there was no room.
    private static func results<Value>(
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

extension PreparedStatement {
    /// Parameters 1 to 3.
    mutating func bind(_ destination: Destination) {
        bind(destination.environment.column, at: 1)
        bind(destination.device.column, at: 2)
        bind(Int64(destination.app.rawValue), at: 3)
    }

    fileprivate mutating func bind(_ entry: MailboxEntry, version: UInt64) {
        let notification = entry.notification
        bind(entry.destination)
        bind(Int64(clamping: version), at: 4)
        bind(entry.expires.column, at: 5)
        // 16 bytes in the order in which a UUID is written.
        withUnsafeBytes(of: (notification.id.high.bigEndian, notification.id.low.bigEndian)) { bind($0, at: 6) }
        bind(Int64(notification.priority.rawValue), at: 7)
        if let seconds = notification.expiration.seconds {
            // The same 64 bits: it goes to the device as the provider wrote it.
            bind(Int64(bitPattern: seconds), at: 8)
        } else {
            bindNull(at: 8)
        }
        bind(Int64(notification.payload.contents.rawValue), at: 9)
        if let pushType = notification.pushType { bind(pushType.rawValue, at: 10) } else { bindNull(at: 10) }
        bind(notification.topic, at: 11)
        if let collapseID = notification.collapseID { bind(collapseID.rawValue, at: 12) } else { bindNull(at: 12) }
        bind(notification.payload.json, at: 13)
    }

    /// The present row; nil where it is none that this store writes.
    fileprivate func mailboxEntry(of device: DeviceKey) -> StoredMailboxEntry? {
        guard let app = UInt32(exactly: integer(0)), let version = UInt64(exactly: integer(1)),
            let id = withBlob(3, NotificationID.init(bytes:)),
            let priority = UInt8(exactly: integer(4)).flatMap(Priority.init(rawValue:)),
            let contents = UInt8(exactly: integer(6))
        else { return nil }
        let pushType = isNull(7) ? nil : PushType(rawValue: text(7))
        let collapseID = isNull(9) ? nil : CollapseIdentifier(rawValue: text(9))
        guard isNull(7) || pushType != nil, isNull(9) || collapseID != nil else { return nil }

        let notification = Notification(
            id: id,
            topic: text(8),
            pushType: pushType,
            priority: priority,
            expiration: isNull(5) ? .unspecified : Expiration(seconds: UInt64(bitPattern: integer(5))),
            collapseID: collapseID,
            payload: Payload(stored: blob(10), contents: Payload.Contents(rawValue: contents)),
        )
        let destination = Destination(
            environment: device.environment,
            device: device.device,
            app: AppID(rawValue: app),
        )
        return StoredMailboxEntry(
            entry: MailboxEntry(
                destination: destination,
                notification: notification,
                expires: Timestamp(column: integer(2)),
            ),
            version: MailboxVersion(rawValue: version),
        )
    }
}

extension NotificationID {
    /// - Parameter bytes: 16 of them, in the order in which a UUID is written.
    fileprivate init?(bytes: UnsafeRawBufferPointer) {
        guard bytes.count == 16 else { return nil }
        self.init(
            high: UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: 0, as: UInt64.self)),
            low: UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self)),
        )
    }
}
