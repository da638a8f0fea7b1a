package import Notifications
import SQLSupport
package import Storage

extension SQLCampaignStore {
    package func recipients(_ query: RecipientQuery, limit: Int) async throws(StoreError) -> [Recipient] {
        let query = try await prepared(query)
        return try await installations("\(query.conditions) ORDER BY i.number LIMIT \(max(0, limit))", isKept: false)
    }

    package func count(_ query: RecipientQuery) async throws(StoreError) -> Int64 {
        let statement = Self.count(try await prepared(query))
        return try await database.read(statement.once) { $0.integer(0) ?? 0 }.first ?? 0
    }

    package func recipientCount(of message: Int64, waiting: [RecipientQuery]) async throws(StoreError) -> Int64 {
        // PostgreSQL's sum of counts is a decimal number.
        var terms: [SQLStatement] = [
            "COALESCE((SELECT accepted FROM message WHERE number = \(message)), 0)",
            "CAST(COALESCE((SELECT sum(count) FROM tally WHERE message = \(message)), 0) AS bigint)",
        ]
        for query in waiting { terms.append("(\(Self.count(try await prepared(query))))") }
        let statement: SQLStatement = "SELECT \(terms.joined(separator: " + "))"
        return try await database.read(statement.once) { $0.integer(0) ?? 0 }.first ?? 0
    }

    private static func count(_ query: RecipientQuery) -> SQLStatement {
        "SELECT count(*) FROM installation i WHERE \(query.conditions)"
    }

    package func record(
        _ outcomes: [SendOutcome],
        of message: MessageRecord,
        position: MessageRecord.Position,
        event: @escaping @Sendable ([EndedInstallation]) -> ProviderEvent,
    ) async throws(StoreError) -> Int {
        // All transactions lock rows in the same order, so that two of them never wait for each other.
        let outcomes = outcomes.sorted { $0.installation < $1.installation }
        // A server that lost the message does not know how far the other one has come.
        let isOurs: SQLStatement = identity.map { "AND (holder IS NULL OR holder = \($0))" } ?? ""
        return try await database.write { transaction in
            // The message's row first, as everywhere: it is the lock for its outcomes. If the message was deleted before
            // its answers came, nothing would ever delete the outcomes.
            let isThere = try transaction.number("SELECT 1 FROM message WHERE number = \(message.number) \(.forUpdate)")
            guard isThere != nil else { return 0 }
            let table = SendOutcome.table
            let new = try Set(
                transaction.rows(
                    """
                    INSERT INTO outcome (message, \(table.list)) SELECT \(message.number), n.*
                    FROM \(table.batch(outcomes)) WHERE true ON CONFLICT DO NOTHING RETURNING installation
                    """
                ) { $0.integer(0) ?? 0 })
            // If an outcome was stored before, do not count it again.
            let counted = outcomes.filter { new.contains($0.installation) }
            let ended = try endInstallations(
                counted.compactMap { outcome in
                    guard outcome.endedPlace == nil else { return nil }
                    return outcome.endedAt.map {
                        InstallationEnding(
                            installation: outcome.installation, token: outcome.endedToken, at: $0,
                            reason: outcome.reason ?? "")
                    }
                }, where: "i.number = n.number AND i.token = coalesce(n.token, i.token)", transaction)
            try removeTokens(counted.compactMap(RemovedToken.init), transaction)
            for outcome in counted {
                guard let environment = outcome.movedTo else { continue }
                try moveInstallation(outcome.installation, outcome.movedToken, to: environment, transaction)
            }
            try changeBadges(counted, transaction)
            try countOutcomes(counted, message.number, transaction)
            try transaction.run(
                """
                UPDATE message SET due = \(position.due.column), environment = \(position.environment.column),
                    after = \(position.after)
                WHERE number = \(message.number) \(isOurs)
                """)
            if !ended.isEmpty { try add(event(ended), app: message.app, transaction) }
            return ended.count
        }
    }

    package func endInstallations(
        app: Int64,
        environment: Environment,
        tokens: [(token: String, endedAt: Timestamp)],
        event: @escaping @Sendable ([EndedInstallation]) -> ProviderEvent,
    ) async throws(StoreError) -> Int {
        // If a device token comes twice, its latest time counts.
        let latest = Dictionary(tokens.map { ($0.token, $0.endedAt) }, uniquingKeysWith: max)
        let endings = latest.sorted { $0.key < $1.key }.map {
            InstallationEnding(installation: nil, token: $0.key, at: $0.value, reason: Installation.End.feedback)
        }
        return try await database.write { transaction in
            let isTheirs: SQLStatement =
                "i.app = \(app) AND i.environment = \(environment.column) AND i.token = n.token"
            let ended = try endInstallations(endings, where: isTheirs, transaction)
            if !ended.isEmpty { try add(event(ended), app: app, transaction) }
            return ended.count
        }
    }

    /// Ends installations, unless the app registered its device token after the service found it invalid (Guide, Table
    /// 8-5).
    /// - Parameter condition: compares the installation `i` with the ending `n`.
    /// - Returns: Those that ended now.
    private func endInstallations(
        _ endings: [InstallationEnding],
        where condition: SQLStatement,
        _ transaction: any SQLTransaction,
    ) throws -> [EndedInstallation] {
        guard !endings.isEmpty else { return [] }
        return try transaction.rows(
            """
            UPDATE installation AS i SET ended = n.at, end_reason = n.reason, changed = \(now().column)
            FROM \(InstallationEnding.table.batch(endings))
            WHERE \(condition) AND i.ended IS NULL AND i.registered <= n.at RETURNING id, ended, end_reason
            """
        ) { row in
            EndedInstallation(
                id: row.text(0) ?? "", reason: row.text(2) ?? "", at: Timestamp(column: row.integer(1) ?? 0))
        }
    }

    /// Removes device tokens of services, unless the app registered after they ended.
    private func removeTokens(_ tokens: [RemovedToken], _ transaction: any SQLTransaction) throws {
        guard !tokens.isEmpty else { return }
        try transaction.run(
            """
            UPDATE installation AS i SET tokens = replace(i.tokens, n.word, ' '), changed = \(now().column)
            FROM \(RemovedToken.table.batch(tokens)) WHERE i.number = n.number AND i.registered <= n.at
            """)
    }

    /// Changes the numbers on the icons of those who got a message that counts.
    private func changeBadges(_ outcomes: [SendOutcome], _ transaction: any SQLTransaction) throws {
        let changes = outcomes.filter { $0.badgeChange != 0 }
        guard !changes.isEmpty else { return }
        let batch = SQLBatch(
            [("number", .integer), ("change", .integer)],
            changes.map { [.integer($0.installation), .integer($0.badgeChange)] })
        try transaction.run(
            """
            UPDATE installation AS i SET badge = CASE WHEN i.badge + n.change < 0 THEN 0
                WHEN i.badge + n.change > \(Installation.maximumBadge) THEN \(Installation.maximumBadge)
                ELSE i.badge + n.change END
            FROM \(batch) WHERE i.number = n.number
            """)
    }

    /// Moves an installation to another environment, unless another one has its device token there.
    /// - Parameter token: the device token that it must have; nil for any.
    private func moveInstallation(
        _ installation: Int64,
        _ token: String?,
        to environment: Environment,
        _ transaction: any SQLTransaction,
    ) throws {
        let hasToken: SQLStatement = token.map { "AND i.token = \(Hexadecimal.bytes($0) ?? [])" } ?? ""
        try transaction.run(
            """
            UPDATE installation AS i SET environment = \(environment.column), changed = \(now().column)
            WHERE i.number = \(installation) AND i.ended IS NULL \(hasToken) AND NOT EXISTS (
                SELECT 1 FROM installation o WHERE o.app = i.app AND o.environment = \(environment.column)
                    AND o.token = i.token AND o.ended IS NULL)
            """)
    }

    private func countOutcomes(_ outcomes: [SendOutcome], _ message: Int64, _ transaction: any SQLTransaction) throws {
        var failed: [String: Int64] = [:]
        for outcome in outcomes { if let reason = outcome.reason { failed[reason, default: 0] += 1 } }
        // The message's row first: it is the lock for the rows of its tally.
        try transaction.run(
            """
            UPDATE message SET accepted = accepted + \(outcomes.count { $0.reason == nil }) WHERE number = \(message)
            """)
        guard !failed.isEmpty else { return }
        let batch = SQLBatch(
            [("reason", .text), ("count", .integer)],
            failed.sorted { $0.key < $1.key }.map { [.text($0.key), .integer($0.value)] })
        try transaction.run(
            """
            INSERT INTO tally AS t (message, reason, count) SELECT \(message), n.* FROM \(batch) WHERE true
            ON CONFLICT (message, reason) DO UPDATE SET count = t.count + excluded.count
            """)
    }

    package func recordOpening(
        of message: String,
        by installation: String,
        app: Int64,
        at time: Timestamp,
    ) async throws(StoreError) -> Bool {
        try await database.write { transaction in
            guard
                let number = try transaction.number(
                    "SELECT number FROM message WHERE id = \(message) AND app = \(app)"),
                let recipient = try transaction.number(
                    "SELECT number FROM installation WHERE id = \(installation) AND app = \(app)")
            else { return false }
            // The message's row first, as everywhere: it is the lock for its outcomes.
            let row: SQLStatement = "message = \(number) AND installation = \(recipient)"
            _ = try transaction.number("SELECT 1 FROM message WHERE number = \(number) \(.forUpdate)")
            let changed = try transaction.run(
                "UPDATE outcome SET opened = \(time.column) WHERE \(row) AND reason IS NULL AND opened IS NULL")
            if changed > 0 { try transaction.run("UPDATE message SET opened = opened + 1 WHERE number = \(number)") }
            return try transaction.number("SELECT 1 FROM outcome WHERE \(row)") != nil
        }
    }

    package func outcomes(
        of message: Int64,
        _ filter: OutcomeFilter,
        after: Int64,
        limit: Int,
    ) async throws(StoreError) -> [KeptOutcome] {
        let table = SendOutcome.table
        let isWanted: SQLStatement =
            switch filter {
            case .all: ""
            case .accepted: "AND o.reason IS NULL"
            case .failed: "AND o.reason IS NOT NULL"
            case .reason(let reason): "AND o.reason = \(reason)"
            }
        return try await database.read(
            """
            SELECT \(table.columns(of: "o")), i.id FROM outcome o LEFT JOIN installation i ON i.number = o.installation
            WHERE o.message = \(message) AND o.installation > \(after) \(isWanted)
            ORDER BY o.installation LIMIT \(max(0, limit))
            """
        ) { KeptOutcome(try table.row($0), installation: $0.text(table.count)) }
    }
}

/// The end of an installation that the push service reported.
private struct InstallationEnding: Sendable {
    /// The installation's number; nil for the one with the device token.
    let installation: Int64?
    /// The device token; nil for whichever the installation has.
    let token: String?
    let at: Timestamp
    let reason: String

    static let table = Table<InstallationEnding>(
        "ending", InstallationEnding.init,
        Column("number", type: .optional(.integer), \.installation),
        Column("token", type: .optional(.hexadecimal), \.token),
        Column("at", type: .moment, \.at),
        Column("reason", type: .text, \.reason))
}

/// A device token of a service that ended.
private struct RemovedToken: Sendable {
    /// The installation's number.
    let installation: Int64
    /// The word in the column, with the spaces around it.
    let word: String
    let at: Timestamp

    static let table = Table<RemovedToken>(
        "removed_token", { RemovedToken(installation: $0, word: $1, at: $2) },
        Column("number", type: .integer, \.installation),
        Column("word", type: .text, \.word),
        Column("at", type: .moment, \.at))
}

extension RemovedToken {
    /// Returns nil if the outcome did not end a device token of a service.
    init?(_ outcome: SendOutcome) {
        guard let place = outcome.endedPlace, let token = outcome.endedToken, let at = outcome.endedAt else {
            return nil
        }
        self.init(installation: outcome.installation, word: " \(place.entry(token)) ", at: at)
    }
}

extension RecipientQuery {
    /// The SQL that finds recipients among `installation i`.
    var conditions: SQLStatement {
        // If the audience names recipients, SQLite should find them by name, and not read all rows in the order of their
        // numbers. A plus sign before a column prevents SQLite from using its index.
        let plus: SQLStatement =
            audience.installations != nil || audience.users != nil ? .either(sqlite: "+", postgresql: "") : ""
        var conditions: [SQLStatement] = [
            "i.app = \(app)", "i.ended IS NULL", "\(plus)i.number > \(after)", "\(plus)i.number <= \(last)",
        ]
        for environment in [environment, audience.environment].compactMap(\.self) {
            conditions.append("\(plus)i.environment = \(environment.column)")
        }
        if let timeZones {
            conditions.append("\(Installation.timeZone) \(.anyOf(timeZones))")
        }
        if let ids = audience.installations { conditions.append("i.id \(.anyOf(ids))") }
        if let users = audience.users { conditions.append("i.\(Installation.userColumn.sql) \(.anyOf(users))") }
        if let language = audience.language {
            conditions.append(AudienceExpression.has(language, in: "' ' || i.language || ' '"))
        }
        if let expression = audience.expression {
            conditions.append(expression.sql(AudienceExpression.Context(now: now, versions: versions ?? [])))
        }
        if message != 0 {
            conditions.append(
                "NOT EXISTS (SELECT 1 FROM outcome o WHERE o.message = \(message) AND o.installation = i.number)")
        }
        return conditions.joined(separator: " AND ")
    }
}
