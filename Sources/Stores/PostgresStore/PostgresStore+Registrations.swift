package import Delivery
package import Notifications
import PostgresClient
import PostgresSupport
package import Storage

extension PostgresStore: Registrations {
    package func knownRegistration(of destination: Destination) -> KnownRegistration? {
        recentRegistrations.knownRegistration(of: destination)
    }

    package func lookUp(_ destinations: [Destination]) async throws(StoreError) -> [Registration?] {
        guard !destinations.isEmpty else { return [] }
        let lookUps = destinations.map { recentRegistrations.begin($0) }
        let rows = try await read(
            """
            SELECT item.place, d.generation, d.token_key, d.token_since, d.active, d.changed
            FROM unnest($1::bigint[], $2::bigint[], $3::bigint[])
                WITH ORDINALITY AS item (device, environment, app, place)
            JOIN carillon.destination AS d
                ON d.device = item.device AND d.environment = item.environment AND d.app = item.app
            """, destinations.values)
        let found = try rows.found(of: destinations, "a registration") { row, _ in row.registration(1) }
        for (index, destination) in destinations.enumerated() {
            recentRegistrations.end(lookUps[index], destination, found[index])
        }
        return found
    }

    package func registrations(of device: DeviceKey) async throws(StoreError) -> [AppID: Registration] {
        let rows = try await read(
            """
            SELECT app, generation, token_key, token_since, active, changed
            FROM carillon.destination WHERE device = $1 AND environment = $2
            """, device.values)
        let all = try rows.map { row throws(StoreError) in
            guard let app = row.integer(0).flatMap(AppID.init(column:)), let registration = row.registration(1) else {
                throw PostgresError.damaged("a registration of device \(device.device)").storeError
            }
            return (app, registration)
        }
        return Dictionary(all, uniquingKeysWith: { $1 })
    }

    package func register(
        _ destination: Destination,
        tokenKeyID: UInt32,
        at moment: Timestamp,
    ) async throws(StoreError) -> Registration {
        let answers = try await change([destination]) { () throws(StoreError) in
            try await self.executePromptly(
                Self.registering(destination, tokenKeyID: tokenKeyID, at: moment),
                on: self.writer(of: destination.deviceKey))
        }
        guard let row = answers.last?.first else { throw PostgresError.damaged("a device").storeError }
        guard row.isNull(0) else { throw .revoked(destination.device) }
        guard let registration = row.registration(1) else {
            throw PostgresError.damaged("a registration").storeError
        }
        recentRegistrations.set(registration, of: destination)
        return registration
    }

    /// The statements of one transaction. Each statement sees everything that was committed before the statement
    /// began. So after a lock was taken, the statements see what its previous holders have changed.
    private static func registering(
        _ destination: Destination,
        tokenKeyID: UInt32,
        at moment: Timestamp,
    ) -> [PostgresStatement] {
        [
            PostgresStatement(
                "INSERT INTO carillon.device (device, environment) VALUES ($1, $2) ON CONFLICT DO NOTHING",
                destination.deviceKey.values),
            // Whoever revokes the device or renews its tokens locks this row, so registering waits for them.
            PostgresStatement(
                """
                INSERT INTO carillon.destination AS d (
                    device, environment, app, generation, token_key, token_since, changed, active
                )
                SELECT device, environment, $3, 1, $4, $5, $5, true FROM carillon.device
                WHERE device = $1 AND environment = $2 AND revoked IS NULL FOR SHARE
                ON CONFLICT (device, environment, app) DO UPDATE SET active = true, changed = excluded.changed
                WHERE NOT d.active
                """, destination.values + [.integer(Int64(tokenKeyID)), .integer(moment.column)]),  // fits: 32 bits
            PostgresStatement(
                """
                DELETE FROM carillon.feedback AS f USING carillon.destination AS d
                WHERE f.device = $1 AND f.environment = $2 AND f.app = $3 AND d.device = $1 AND d.environment = $2
                    AND d.app = $3 AND d.active AND f.generation & $4 = d.generation
                """, destination.values + [.integer(Int64(TokenNumber.lastGeneration))]),
            PostgresStatement(
                """
                SELECT device.revoked, d.generation, d.token_key, d.token_since, d.active, d.changed
                FROM carillon.device AS device LEFT JOIN carillon.destination AS d
                    ON d.device = device.device AND d.environment = device.environment AND d.app = $3
                WHERE device.device = $1 AND device.environment = $2
                """, destination.values),
        ]
    }

    package func end(_ destination: Destination, at moment: Timestamp) async throws(StoreError) -> Registration? {
        let answers = try await change([destination]) { () throws(StoreError) in
            try await self.executePromptly(
                Self.emptyingKept(of: destination.app, on: destination.deviceKey) + [
                    PostgresStatement(
                        assembled: """
                            WITH held AS (
                                SELECT device, environment, app, id, topic FROM carillon.destination
                                WHERE device = $1 AND environment = $2 AND app = $3 FOR NO KEY UPDATE
                            )
                            UPDATE carillon.destination AS d SET
                                active = false, changed = CASE WHEN d.active THEN $4 ELSE d.changed END,
                                \(MailboxColumns.emptying)
                            FROM held
                            WHERE d.device = $1 AND d.environment = $2 AND d.app = $3
                            RETURNING held.device, held.environment, held.app, held.id, held.topic, d.generation,
                                d.token_key, d.token_since, d.active, d.changed
                            """, destination.values + [.integer(moment.column)]),
                    self.announcingEnd(of: destination.app, on: destination.deviceKey),
                ], on: self.writer(of: destination.deviceKey))
        }
        guard answers.count > 2, let row = answers[2].first else { return nil }
        guard let registration = row.registration(5) else { throw PostgresError.damaged("a registration").storeError }
        recentRegistrations.set(registration, of: destination)
        let discarded =
            Self.discarded(answers[1]) + [row.endedNotification(.discarded(.unregistered))].compactMap(\.self)
        journal.record(discarded)
        return registration
    }

    package func renewTokens(
        of device: DeviceKey,
        tokenKeyID: UInt32,
        at moment: Timestamp,
    ) async throws(StoreError) {
        let before = try await registrations(of: device).keys.map {
            device.destination(of: $0)
        }
        let answers = try await change(before) { () throws(StoreError) in
            try await self.executePromptly(
                Self.emptyingKept(of: nil, on: device)
                    + Self.renewing(device, tokenKeyID: tokenKeyID, at: moment)
                    + [self.announcingEnd(of: nil, on: device)],
                on: self.writer(of: device))
        }
        guard let renewed = answers.dropLast().last else { throw PostgresError.damaged("a device").storeError }
        var discarded = answers.count > 1 ? Self.discarded(answers[1]) : []
        for index in 0..<renewed.count {
            guard let destination = renewed[index].destination(0), let registration = renewed[index].registration(5)
            else { throw PostgresError.damaged("a registration").storeError }
            recentRegistrations.set(registration, of: destination)
            if let ended = renewed[index].endedNotification(.discarded(.unregistered)) { discarded.append(ended) }
        }
        journal.record(discarded)
        // No app of the device could get another generation, and nothing was changed.
        if renewed.count == 0, !before.isEmpty { throw .outOfTokens(device.device) }
    }

    private static func discarded(_ rows: PostgresRows) -> [EndedNotification] {
        rows.map { $0.endedNotification(.discarded(.unregistered)) }.compactMap(\.self)
    }

    private static func renewing(
        _ device: DeviceKey,
        tokenKeyID: UInt32,
        at moment: Timestamp,
    ) -> [PostgresStatement] {
        [
            // Lock the device's row. Registering an app needs this lock too, so the next statement sees all apps.
            PostgresStatement(
                "SELECT 1 FROM carillon.device WHERE device = $1 AND environment = $2 FOR UPDATE", device.values),
            PostgresStatement(
                assembled: """
                    WITH held AS (
                        SELECT device, environment, app, id, topic FROM carillon.destination
                        WHERE device = $1 AND environment = $2 ORDER BY app FOR NO KEY UPDATE
                    )
                    UPDATE carillon.destination AS d SET
                        generation = d.generation + 1, token_key = $3, token_since = $4,
                        active = false, changed = CASE WHEN d.active THEN $4 ELSE d.changed END,
                        \(MailboxColumns.emptying)
                    FROM held
                    WHERE d.device = held.device AND d.environment = held.environment AND d.app = held.app
                        AND NOT EXISTS (
                            SELECT FROM carillon.destination AS last
                            WHERE last.device = $1 AND last.environment = $2 AND last.generation >= $5
                        )
                    RETURNING held.device, held.environment, held.app, held.id, held.topic, d.generation, d.token_key,
                        d.token_since, d.active, d.changed
                    """,
                device.values + [
                    // fits: 32 bits
                    .integer(Int64(tokenKeyID)), .integer(moment.column), .integer(Int64(TokenNumber.lastGeneration)),
                ]),
        ]
    }

    package func removeOrphaned(limit: Int) async throws(StoreError) -> Int {
        guard limit > 0 else { return 0 }
        let answers = try await Self.execute(
            [
                PostgresStatement(
                    """
                    WITH orphan AS (
                        SELECT d.device, d.environment, d.app, d.id, d.topic
                        FROM carillon.deleted_app AS app JOIN carillon.destination AS d ON d.app = app.id
                        LIMIT $1 FOR UPDATE OF d SKIP LOCKED
                    ), feedback AS (
                        DELETE FROM carillon.feedback AS f USING orphan
                        WHERE f.device = orphan.device AND f.environment = orphan.environment AND f.app = orphan.app
                    ), kept AS (
                        DELETE FROM carillon.kept AS k USING orphan
                        WHERE k.device = orphan.device AND k.environment = orphan.environment AND k.app = orphan.app
                        RETURNING k.device, k.environment, k.app, k.id, k.topic
                    ), gone AS (
                        DELETE FROM carillon.destination AS d USING orphan
                        WHERE d.device = orphan.device AND d.environment = orphan.environment AND d.app = orphan.app
                        RETURNING orphan.device, orphan.environment, orphan.app, orphan.id, orphan.topic
                    )
                    SELECT *, true FROM gone UNION ALL SELECT *, false FROM kept
                    """, [.integer(Int64(clamping: limit))])
            ], on: writers[0])
        guard let removed = answers.first else { return 0 }
        for index in 0..<removed.count {
            if let gone = removed[index].destination(0) { recentRegistrations.forget(gone) }
        }
        journal.record(Self.discarded(removed))
        return removed.map { $0.bool(5) == true }.count { $0 }
    }

    /// Changes registrations. They are removed from `recentRegistrations` before the change, and again if it fails,
    /// because they may have been read and remembered in the meantime.
    private func change<Value: Sendable>(
        _ destinations: [Destination],
        _ body: () async throws(StoreError) -> Value,
    ) async throws(StoreError) -> Value {
        for destination in destinations { recentRegistrations.forget(destination) }
        do throws(StoreError) {
            return try await body()
        } catch {
            for destination in destinations { recentRegistrations.forget(destination) }
            throw error
        }
    }
}
