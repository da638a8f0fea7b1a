import AccountTables
package import Delivery
import Notifications
import PostgresClient
import PostgresSupport
package import Storage

extension PostgresStore: CopyableStore {
    package var secretNames: Set<SecretName> { sealed.present }

    package func isUnfinishedCopy() async throws(StoreError) -> Bool {
        try await read("SELECT 1 FROM carillon.unfinished_copy", []).count > 0
    }

    // MARK: Reading

    package func copiedAccounts() async throws(StoreError) -> CopiedAccounts {
        let last = try await read("SELECT last_app FROM carillon.accounts WHERE is_only", []).first?.integer(0)
        guard let last = last.flatMap(AppID.init(column:)) else { throw PostgresError.damaged("accounts").storeError }
        return CopiedAccounts(snapshot: current, lastApp: last)
    }

    package func countDestinations() async throws(StoreError) -> Int {
        let count = try await read("SELECT count(*) FROM carillon.destination", []).first?.integer(0)
        return Int(clamping: count ?? 0)
    }

    package func copiedDestinations(
        after destination: Destination?,
        limit: Int,
    ) async throws(StoreError) -> [CopiedDestination] {
        let start = destination?.values ?? [.integer(.min), .integer(-1), .integer(0)]
        let rows = try await read(
            PostgresStatement(
                assembled: """
                    SELECT device, environment, app, generation, token_key, token_since, active, changed,
                        \(MailboxColumns.reading(from: "d"))
                    FROM carillon.destination AS d
                    WHERE (device, environment, app) > ($1, $2, $3)
                    ORDER BY device, environment, app LIMIT $4
                    """, start + [.integer(Int64(clamping: limit))]))
        return try rows.map { row throws(StoreError) in
            guard let destination = row.destination(0), let registration = row.registration(3) else {
                throw PostgresError.damaged("a registration").storeError
            }
            let isEmpty = row.isNull(10)
            let mailbox = isEmpty ? nil : row.mailboxEntry(of: destination.deviceKey, from: 8)
            guard isEmpty || mailbox != nil else {
                throw PostgresError.damaged("a mailbox of device \(destination.device)").storeError
            }
            return CopiedDestination(destination: destination, registration: registration, mailbox: mailbox)
        }
    }

    package func copiedFeedback(
        _ list: FeedbackList,
        after mark: FeedbackMark?,
        limit: Int,
    ) async throws(StoreError) -> [CopiedFeedback] {
        let rows = try await read(
            """
            SELECT device, environment, app, number, generation, moment, token FROM carillon.feedback
            WHERE environment = $1 AND app = $2 AND number > $3 ORDER BY number LIMIT $4
            """,
            [
                .integer(list.environment.column), .integer(list.app.column),
                .integer(Int64(clamping: mark?.rawValue ?? 0)), .integer(Int64(clamping: limit)),
            ])
        return try rows.map { row throws(StoreError) in
            guard let destination = row.destination(0), let number = row.integer(3).flatMap(UInt64.init(exactly:)),
                let generation = row.integer(4).flatMap(UInt32.init(exactly:)), let moment = row.moment(5),
                let token = row.bytes(6).flatMap({ DeviceToken($0) })
            else { throw PostgresError.damaged("an entry of the feedback").storeError }
            return CopiedFeedback(
                mark: FeedbackMark(rawValue: number),
                entry: FeedbackEntry(
                    destination: destination, generation: generation, token: token, moment: moment))
        }
    }

    // MARK: Writing

    package func beginCopy(of source: Int64) async throws(StoreError) {
        let hasSecrets = !secretNames.isEmpty
        let isOurs: Bool
        do throws(PostgresError) {
            isOurs = try await writers[0].transaction { transaction throws(PostgresError) in
                let present = try transaction.execute("SELECT source FROM carillon.unfinished_copy").first?.integer(0)
                let version = try transaction.execute("SELECT version FROM carillon.accounts").first?.integer(0)
                guard present == source || (present == nil && version == 0 && !hasSecrets) else { return false }
                try Self.removeEverything(transaction)
                try transaction.execute("INSERT INTO carillon.unfinished_copy (source) VALUES ($1)", [.integer(source)])
                return true
            }
        } catch {
            throw error.storeError
        }
        guard isOurs else { throw .notEmpty }
    }

    /// Removes what a copy writes, but not the secrets, which are the same each time.
    private static func removeEverything(_ transaction: PostgresTransaction) throws(PostgresError) {
        let kept: [String?] = ["schema_version", "accounts", "node", "secret"]
        let tables = try transaction.execute(
            """
            SELECT string_agg(format('carillon.%I', tablename), ', ') FROM pg_tables
            WHERE schemaname = 'carillon' AND tablename <> ALL ($1::text[])
            """, [.texts(kept)]
        ).first?.text(0)
        guard let tables else { return }
        try transaction.execute(PostgresStatement(assembled: "TRUNCATE \(tables)"))
    }

    package func fill(_ accounts: CopiedAccounts) async throws(StoreError) {
        do throws(PostgresError) {
            try await writers[0].transaction { transaction throws(PostgresError) in
                try transaction.sql { try AccountRows.write(accounts, $0) }
                try transaction.execute(
                    "UPDATE carillon.accounts SET last_app = $1, version = $2",
                    [.integer(accounts.lastApp.column), .integer(Int64(clamping: accounts.snapshot.version))])
            }
        } catch {
            throw error.storeError
        }
    }

    package func fill(_ destinations: [CopiedDestination]) async throws(StoreError) {
        let registrations = destinations.map(\.registration)
        let columns =
            destinations.map(\.destination).columns + [
                BoundColumn("generation", .integers(registrations.map { Int64($0.generation) })),  // fits: 32 bits
                BoundColumn("token_key", .integers(registrations.map { Int64($0.tokenKeyID) })),  // fits: 32 bits
                BoundColumn("token_since", .integers(registrations.map(\.tokenSince.column))),
                BoundColumn("changed", .integers(registrations.map(\.changed.column))),
                BoundColumn(
                    "version", .integers(destinations.map { Int64(clamping: $0.mailbox?.version.rawValue ?? 0) })),
            ] + MailboxColumns.columns(of: destinations.map { $0.mailbox?.entry })
        // There is no parameter for an array of booleans.
        let rows = columns + [BoundColumn("is_active", .integers(registrations.map { $0.isActive ? 1 : 0 }))]
        let statement = PostgresStatement(
            assembled: """
                INSERT INTO carillon.destination (\(columns.names), active, sweep)
                SELECT \(columns.names), is_active = 1, expires
                FROM unnest(\(rows.parameters())) AS item (\(rows.names))
                """, rows.values)
        _ = try await Self.execute([statement], on: writers[0])
    }

    /// A list's entries keep their numbers, which grow in each list.
    package func fill(_ feedback: [CopiedFeedback]) async throws(StoreError) {
        let entries = feedback.map(\.entry)
        let columns =
            entries.map(\.destination).columns + [
                BoundColumn("generation", .integers(entries.map { Int64($0.generation) })),  // fits: 32 bits
                BoundColumn("number", .integers(feedback.map { Int64(clamping: $0.mark.rawValue) })),
                BoundColumn("moment", .integers(entries.map(\.moment.column))),
                BoundColumn("token", .byteArrays(entries.map(\.token.array))),
            ]
        let numbers = columns.filter { ["environment", "app", "number"].contains($0.name) }
        _ = try await Self.execute(
            [
                PostgresStatement(
                    assembled: """
                        INSERT INTO carillon.feedback (\(columns.names))
                        SELECT * FROM unnest(\(columns.parameters()))
                        """, columns.values),
                PostgresStatement(
                    assembled: """
                        INSERT INTO carillon.feedback_list AS list (environment, app, last)
                        SELECT environment, app, max(number)
                        FROM unnest(\(numbers.parameters())) AS item (\(numbers.names))
                        GROUP BY environment, app
                        ON CONFLICT (environment, app) DO UPDATE SET last = greatest(list.last, excluded.last)
                        """, numbers.values),
            ], on: writers[0])
    }

    package func endCopy() async throws(StoreError) {
        _ = try await Self.execute([PostgresStatement("DELETE FROM carillon.unfinished_copy")], on: writers[0])
    }
}
