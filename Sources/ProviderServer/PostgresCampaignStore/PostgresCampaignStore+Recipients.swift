package import CampaignStore
import Notifications
import PostgresClient
import PostgresSupport
package import Storage

extension PostgresCampaignStore {
    package func recipients(_ query: RecipientQuery, limit: Int) async throws(StoreError) -> [Recipient] {
        var search = RecipientSearch(query)
        let sql = search.sql(Self.installationColumns) + " ORDER BY i.number LIMIT \(max(0, limit))"
        return try Self.recipients(try await read(PostgresStatement(once: sql, search.values)))
    }

    package func count(_ query: RecipientQuery) async throws(StoreError) -> Int64 {
        var search = RecipientSearch(query)
        let sql = search.sql("count(*)")
        return try await read(PostgresStatement(once: sql, search.values)).first?.integer(0) ?? 0
    }

    package func record(
        _ outcomes: [SendOutcome],
        of message: MessageRecord,
        position: MessageRecord.Position,
        event: @escaping @Sendable ([EndedInstallation]) -> ProviderEvent,
    ) async throws(StoreError) -> Int {
        let (now, identity, limit) = (configuration.now, configuration.identity, configuration.waitingDeliveries)
        // All transactions lock rows in the same order, so that two of them never wait for each other.
        let outcomes = outcomes.sorted { $0.installation < $1.installation }
        return try await transact { transaction throws(PostgresError) in
            let new = try Self.add(outcomes, message.number, transaction)
            // If an outcome was stored before, do not count it again.
            let counted = outcomes.filter { new.contains($0.installation) }
            let ended = try Self.end(counted.filter { $0.endedAt != nil }, now: now(), transaction)
            try Self.count(counted, message.number, transaction)
            // A server that lost the message does not know how far the other one has come.
            try transaction.execute(
                """
                UPDATE carillon_provider.message SET due = $3, environment = $4, after = $5
                WHERE number = $1 AND (holder IS NULL OR holder = $2)
                """,
                [
                    .integer(message.number), .bytes(identity), .moment(position.due),
                    .integer(position.environment.column), .integer(position.after),
                ])
            if !ended.isEmpty {
                try Self.add(event(ended), app: message.app, at: now(), limit: limit, transaction)
            }
            return ended.count
        }
    }

    /// - Returns: The installations whose outcome was not stored before.
    private static func add(
        _ outcomes: [SendOutcome],
        _ message: Int64,
        _ transaction: PostgresTransaction,
    ) throws(PostgresError) -> Set<Int64> {
        let rows = try transaction.execute(
            """
            INSERT INTO carillon_provider.outcome (message, installation, at, status, reason)
            SELECT $1, n.* FROM unnest($2::bigint[], $3::bigint[], $4::bigint[], $5::text[]) AS n
            ON CONFLICT DO NOTHING RETURNING installation
            """,
            [
                .integer(message), .integers(outcomes.map(\.installation)), .integers(outcomes.map(\.at.column)),
                .integers(outcomes.map { Int64($0.status) }), .lines(outcomes.map(\.reason)),
            ])
        return Set(rows.map { $0.number(0) })
    }

    private static func count(
        _ outcomes: [SendOutcome],
        _ message: Int64,
        _ transaction: PostgresTransaction,
    ) throws(PostgresError) {
        var failed: [String: Int64] = [:]
        for outcome in outcomes { if let reason = outcome.reason { failed[reason, default: 0] += 1 } }
        let accepted = outcomes.count { $0.reason == nil }
        // The message's row first: it is the lock for the rows of its tally.
        try transaction.execute(
            "UPDATE carillon_provider.message SET accepted = accepted + $2 WHERE number = $1",
            [.integer(message), .integer(Int64(accepted))])
        guard !failed.isEmpty else { return }
        let reasons = failed.keys.sorted()
        try transaction.execute(
            """
            INSERT INTO carillon_provider.tally AS t (message, reason, count)
            SELECT $1, n.* FROM unnest($2::text[], $3::bigint[]) AS n
            ON CONFLICT (message, reason) DO UPDATE SET count = t.count + excluded.count
            """,
            [.integer(message), .lines(reasons), .integers(reasons.map { failed[$0] })])
    }

    /// Ends installations, unless the app registered its device token after the service found it invalid (Guide, Table
    /// 8-5), or has another one by now.
    /// - Returns: Those that ended now.
    private static func end(
        _ outcomes: [SendOutcome],
        now: Timestamp,
        _ transaction: PostgresTransaction,
    ) throws(PostgresError) -> [EndedInstallation] {
        guard !outcomes.isEmpty else { return [] }
        let rows = try transaction.execute(
            """
            UPDATE carillon_provider.installation AS i SET ended = n.at, end_reason = n.reason, changed = $1
            FROM unnest($2::bigint[], $3::bigint[], $4::text[], $5::bytea[]) AS n (number, at, reason, token)
            WHERE i.number = n.number AND i.ended IS NULL AND i.registered <= n.at AND i.token = coalesce(n.token, i.token)
            RETURNING i.id, n.reason, n.at
            """,
            [
                .moment(now), .integers(outcomes.map(\.installation)), .integers(outcomes.map { $0.endedAt?.column }),
                .lines(outcomes.map { $0.reason ?? "" }),
                .byteArrays(outcomes.map { $0.endedToken.flatMap(Hexadecimal.bytes) }),
            ])
        return rows.map { row in
            EndedInstallation(id: row.line(0), reason: row.line(1), at: Timestamp(column: row.number(2)))
        }
    }

    package func outcomes(
        of message: Int64,
        _ filter: OutcomeFilter,
        after: Int64,
        limit: Int,
    ) async throws(StoreError) -> [KeptOutcome] {
        let (isAccepted, reason): (Int64?, String?) =
            switch filter {
            case .all: (nil, nil)
            case .accepted: (1, nil)
            case .failed: (0, nil)
            case .reason(let reason): (0, reason)
            }
        return try await read(
            """
            SELECT o.installation, o.status, o.reason, o.at, i.id
            FROM carillon_provider.outcome o LEFT JOIN carillon_provider.installation i ON i.number = o.installation
            WHERE o.message = $1 AND o.installation > $2 AND ($3 IS NULL OR (o.reason IS NULL) = ($3 = 1))
                AND ($4 IS NULL OR o.reason = $4)
            ORDER BY o.installation LIMIT $5
            """,
            [
                .integer(message), .integer(after), .integer(isAccepted), .line(reason),
                .integer(Int64(max(0, limit))),
            ]
        ).map { row in
            KeptOutcome(
                SendOutcome(
                    installation: row.number(0), status: Int(clamping: row.number(1)), reason: row.text(2),
                    at: Timestamp(column: row.number(3))),
                installation: row.text(4))
        }
    }
}

/// Makes the SQL that finds recipients.
///
/// Tags are searched as text in the row itself, as in the SQLite form. A tag is always passed as a parameter, never as SQL.
private struct RecipientSearch {
    private let query: RecipientQuery
    private(set) var values: [PostgresValue] = []

    init(_ query: RecipientQuery) { self.query = query }

    /// Adds a parameter, and returns its name in the SQL.
    private mutating func parameter(_ value: PostgresValue) -> String {
        values.append(value)
        return "$\(values.count)"
    }

    mutating func sql(_ columns: String) -> String {
        let audience = query.audience
        var conditions = [
            "i.app = \(parameter(.integer(query.app)))", "i.ended IS NULL",
            "i.number > \(parameter(.integer(query.after)))", "i.number <= \(parameter(.integer(query.last)))",
        ]
        for environment in [query.environment, audience.environment].compactMap(\.self) {
            conditions.append("i.environment = \(parameter(.integer(environment.column)))")
        }
        if let zones = query.timeZones {
            conditions.append(
                "CASE i.time_zone WHEN '' THEN 'GMT' ELSE i.time_zone END = ANY (\(parameter(.lines(zones))))")
        }
        if let ids = audience.installations { conditions.append("i.id = ANY (\(parameter(.lines(ids))))") }
        if let users = audience.users { conditions.append("i.user_name = ANY (\(parameter(.lines(users))))") }
        if let language = audience.language {
            conditions.append(
                "(i.language = \(parameter(.line(language))) "
                    + "OR starts_with(i.language, \(parameter(.line(language + "-")))))")
        }
        if let tags = audience.tags { conditions.append(condition(tags)) }
        if query.message != 0 {
            conditions.append(
                """
                NOT EXISTS (SELECT 1 FROM carillon_provider.outcome o
                WHERE o.message = \(parameter(.integer(query.message))) AND o.installation = i.number)
                """)
        }
        return "SELECT \(columns) FROM carillon_provider.installation i WHERE "
            + conditions.joined(separator: " AND ")
    }

    /// The recursion is safe, because the parser limits the depth.
    private mutating func condition(_ expression: TagExpression) -> String {
        switch expression {
        case .tag(let tag): "strpos(i.tags, \(parameter(.line(" \(tag) ")))) > 0"
        case .not(let inner): "NOT (\(condition(inner)))"
        case .and(let left, let right): "(\(condition(left)) AND \(condition(right)))"
        case .or(let left, let right): "(\(condition(left)) OR \(condition(right)))"
        }
    }
}
