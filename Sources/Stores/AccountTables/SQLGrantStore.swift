package import Delivery
package import Notifications
package import SQLSupport
package import Storage

/// The handles, the numbers and the invitations of grants, on either database. The statements are the same for both.
package struct SQLGrantStore: GrantStore {
    let database: any SQLDatabase

    package init(_ database: any SQLDatabase) { self.database = database }

    // MARK: Handles

    package func put(
        _ handles: [StoredHandle],
        limit: Int,
        code: UsedCode?,
        endpoint: HandleEndpoint?,
    ) async throws(StoreError) -> HandleEndpoint? {
        // All nodes lock the rows in the same order, so that two never wait for each other.
        let handles = handles.sorted { $0.grant < $1.grant }
        return try await database.write { transaction in
            if let code { try Self.use(code, transaction) }
            for stored in handles { try Self.put(stored, limit: limit, transaction) }
            return try endpoint.map { try Self.put($0, transaction) }
        }
    }

    private static func use(_ code: UsedCode, _ transaction: any SQLTransaction) throws {
        try transaction.run("DELETE FROM grant_code WHERE expires <= \(code.now.column)")
        let isNew = try transaction.run(
            """
            INSERT INTO grant_code (grant_id, digest, expires)
            VALUES (\(code.grant.rawValue), \(code.digest), \(code.expires.column))
            ON CONFLICT (grant_id, digest) DO NOTHING
            """)
        guard isNew == 1 else { throw StoreError.codeWasUsed }
    }

    private static func put(_ stored: StoredHandle, limit: Int, _ transaction: any SQLTransaction) throws {
        let (table, grant) = (StoredHandle.table, stored.grant.rawValue)
        // A copy of a store has handles that have ended. They do not count.
        guard stored.end == nil else {
            try transaction.run("INSERT INTO handle (\(table.list)) VALUES (\(table.values(stored)))")
            return
        }
        let changes = try table.assignments(stored, except: ["handle", "grant_id", "made"])
        let update: SQLStatement =
            """
            UPDATE handle SET \(changes), made = coalesce(made, registered)
            WHERE handle = \(stored.handle.bytes) AND grant_id = \(grant)
            """
        guard try transaction.run("\(update) AND ended IS NULL") == 0 else { return }
        try transaction.run(
            "INSERT INTO handle_count (grant_id, handles) VALUES (\(grant), 0) ON CONFLICT (grant_id) DO NOTHING")
        // In PostgreSQL this locks the row, so that requests at the same time cannot exceed the limit together.
        let isCounted = try transaction.run(
            "UPDATE handle_count SET handles = handles + 1 WHERE grant_id = \(grant) AND handles < \(limit)")
        guard isCounted == 1 else { throw StoreError.tooManyHandles(limit) }
        guard try transaction.run("\(update) AND ended IS NOT NULL") == 0 else {
            // Its endpoints have ended with it, also if a node of the release before has ended it.
            return try Self.removeEndpoints(of: stored.handle, transaction)
        }
        // Another node may have stored the same handle while this one waited for the lock.
        guard try transaction.run("\(update) AND ended IS NULL") == 0 else {
            return try countDown(stored.grant, transaction)
        }
        try transaction.run("INSERT INTO handle (\(table.list)) VALUES (\(table.values(stored)))")
    }

    /// Counts a handle of a grant less. A node of an earlier release counts those that have ended, so the number may be too low.
    private static func countDown(_ grant: GrantID, by count: Int = 1, _ transaction: any SQLTransaction) throws {
        try transaction.run(
            """
            UPDATE handle_count SET handles = CASE WHEN handles > \(count) THEN handles - \(count) ELSE 0 END
            WHERE grant_id = \(grant.rawValue)
            """)
    }

    package func handles(_ handles: [Handle]) async throws(StoreError) -> [StoredHandle?] {
        let table = StoredHandle.table
        let wanted = SQLBatch([("wanted", .bytes)], Set(handles).map { [.bytes($0.bytes)] })
        let rows = try await database.read(
            "SELECT \(table.columns(of: "h")) FROM \(wanted) JOIN handle h ON h.handle = n.wanted"
        ) { try table.row($0) }
        let found = Dictionary(rows.map { ($0.handle, $0) }, uniquingKeysWith: { $1 })
        return handles.map { found[$0] }
    }

    package func remove(_ handle: Handle, of grant: GrantID) async throws(StoreError) -> Bool {
        try await database.write { transaction in
            let removed = try transaction.rows(
                """
                DELETE FROM handle WHERE handle = \(handle.bytes) AND grant_id = \(grant.rawValue) RETURNING ended
                """
            ) { $0.isNull(0) }
            guard let wasActive = removed.first else { return false }
            if wasActive { try Self.countDown(grant, transaction) }
            return true
        }
    }

    package func end(_ handle: Handle, _ end: HandleEnd) async throws(StoreError) {
        try await database.write { transaction in
            let ended = try transaction.rows(
                """
                UPDATE handle SET ended_reason = \(end.reason.rawValue), ended = \(end.moment.column),
                    ended_noted = \(end.noted.column)
                WHERE handle = \(handle.bytes) AND registered <= \(end.moment.column) AND ended IS NULL
                RETURNING grant_id
                """
            ) { $0.text(0).flatMap(GrantID.init(rawValue:)) }
            guard let grant = ended.first ?? nil else { return }
            try Self.countDown(grant, transaction)
            try Self.removeEndpoints(of: handle, transaction)
        }
    }

    package func sweep(
        _ sweep: HandleSweep,
        after handle: Handle?,
        limit: Int,
    ) async throws(StoreError) -> [Handle] {
        let isAged: SQLStatement = "ended IS NULL AND registered <= \(sweep.aged.column)"
        let isForgotten: SQLStatement =
            "ended IS NOT NULL AND coalesce(ended_noted, ended) <= \(sweep.forgotten.column)"
        // The search reads the whole table once, and must not keep others from writing meanwhile.
        let found = try await database.read(
            """
            SELECT handle, grant_id, ended FROM handle
            WHERE handle > \(handle?.bytes ?? []) AND ((\(isAged)) OR (\(isForgotten)))
            ORDER BY handle LIMIT \(limit)
            """
        ) { row in (row.bytes(0).flatMap { Handle($0) }, row.text(1).flatMap(GrantID.init(rawValue:)), row.isNull(2)) }
        guard !found.isEmpty else { return [] }
        try await database.write { transaction in
            var ended: [GrantID: Int] = [:]
            for case (let handle?, let grant?, let isActive) in found {
                guard isActive else {
                    try transaction.run("DELETE FROM handle WHERE handle = \(handle.bytes) AND \(isForgotten)")
                    continue
                }
                let count = try transaction.run(
                    """
                    UPDATE handle SET ended_reason = \(Rejection.Reason.unregistered.rawValue),
                        ended = registered + \(Int64(clamping: sweep.age)), ended_noted = \(sweep.now.column)
                    WHERE handle = \(handle.bytes) AND \(isAged)
                    """)
                ended[grant, default: 0] += count
                if count > 0 { try Self.removeEndpoints(of: handle, transaction) }
            }
            // All nodes lock the rows in the same order, so that two never wait for each other.
            for (grant, count) in ended.sorted(by: { $0.key < $1.key }) where count > 0 {
                try Self.countDown(grant, by: count, transaction)
            }
        }
        return found.compactMap(\.0)
    }

    package func handles(
        of grant: GrantID,
        isEnded: Bool?,
        _ sweep: HandleSweep,
        after handle: Handle?,
        limit: Int,
    ) async throws(StoreError) -> [StoredHandle] {
        let table = StoredHandle.table
        let isActive: SQLStatement = "(ended IS NULL AND registered > \(sweep.aged.column))"
        let hasEnded: SQLStatement =
            """
            ((ended IS NULL AND registered <= \(sweep.aged.column))
                OR (ended IS NOT NULL AND coalesce(ended_noted, ended) > \(sweep.unlisted.column)))
            """
        let isWanted: SQLStatement =
            switch isEnded {
            case true?: hasEnded
            case false?: isActive
            case nil: "(\(isActive) OR \(hasEnded))"
            }
        return try await database.read(
            """
            SELECT \(table.columns(of: "handle")) FROM handle
            WHERE handle > \(handle?.bytes ?? []) AND grant_id = \(grant.rawValue) AND \(isWanted)
            ORDER BY handle LIMIT \(limit)
            """
        ) { try table.row($0) }
    }

    /// The condition that a row is of a grant; nothing if all are asked for.
    private static func and(_ grant: GrantID?) -> SQLStatement { grant.map { "AND grant_id = \($0.rawValue)" } ?? "" }

    package func handleCounts(of grant: GrantID?) async throws(StoreError) -> [GrantID: Int] {
        let rows = try await database.read(
            "SELECT grant_id, handles FROM handle_count WHERE handles > 0 \(Self.and(grant))"
        ) { row in
            (row.text(0).flatMap(GrantID.init(rawValue:)), Int(clamping: row.integer(1) ?? 0))
        }
        return Dictionary(rows.compactMap { grant, count in grant.map { ($0, count) } }, uniquingKeysWith: { $1 })
    }

    package func hasHandles() async throws(StoreError) -> Bool {
        try await !database.read("SELECT 1 FROM handle LIMIT 1") { _ in true }.isEmpty
    }

    package func removeOrphanedHandles(after handle: Handle?, limit: Int) async throws(StoreError) -> [Handle] {
        let isOrphaned: SQLStatement =
            "grant_id NOT IN (SELECT id FROM gateway_grant WHERE revoked IS NULL)"
        // The search reads the whole table once, and must not keep others from writing meanwhile.
        let found = try await database.read(
            """
            SELECT handle FROM handle WHERE handle > \(handle?.bytes ?? []) AND \(isOrphaned)
            ORDER BY handle LIMIT \(limit)
            """
        ) { $0.bytes(0).flatMap { Handle($0) } }.compactMap { $0 }
        var statements: [SQLStatement] = found.map { "DELETE FROM handle WHERE handle = \($0.bytes)" }
        if found.count < limit { statements.append("DELETE FROM handle_count WHERE \(isOrphaned)") }
        try await database.write(statements)
        return found
    }

    package func handles(after handle: Handle?, limit: Int) async throws(StoreError) -> [StoredHandle] {
        let table = StoredHandle.table
        return try await database.read(
            """
            SELECT \(table.columns(of: "handle")) FROM handle WHERE handle > \(handle?.bytes ?? [])
            ORDER BY handle LIMIT \(limit)
            """
        ) { try table.row($0) }
    }

    // MARK: What was sent

    package func add(_ counts: [GrantCount], on day: UInt64) async throws(StoreError) -> [GrantID: UInt64] {
        let day = Int64(clamping: day)
        // All nodes write the rows in the same order, so that two never wait for each other.
        let counts = counts.sorted { $0.grant < $1.grant }
        return try await database.write { transaction in
            var totals: [GrantID: UInt64] = [:]
            for count in counts {
                let total = try transaction.rows(
                    """
                    INSERT INTO grant_day AS d (grant_id, day, sent)
                    VALUES (\(count.grant.rawValue), \(day), \(Int64(clamping: count.sent)))
                    ON CONFLICT (grant_id, day) DO UPDATE SET sent = d.sent + excluded.sent RETURNING sent
                    """
                ) { $0.integer(0) }
                totals[count.grant] = total.first.flatMap { $0 }.map { UInt64(clamping: $0) }
                for (outcome, answers) in count.answers.sorted(by: { $0.key < $1.key }) {
                    try transaction.run(
                        """
                        INSERT INTO grant_answer AS a (grant_id, outcome, answers)
                        VALUES (\(count.grant.rawValue), \(outcome), \(Int64(clamping: answers)))
                        ON CONFLICT (grant_id, outcome) DO UPDATE SET answers = a.answers + excluded.answers
                        """)
                }
                try transaction.run(
                    "DELETE FROM grant_day WHERE grant_id = \(count.grant.rawValue) AND day < \(day)")
            }
            return totals
        }
    }

    package func sent(on day: UInt64, of grant: GrantID?) async throws(StoreError) -> [GrantID: UInt64] {
        let rows = try await database.read(
            "SELECT grant_id, sent FROM grant_day WHERE day = \(Int64(clamping: day)) \(Self.and(grant))"
        ) { row in (row.text(0).flatMap(GrantID.init(rawValue:)), UInt64(clamping: row.integer(1) ?? 0)) }
        return Dictionary(rows.compactMap { grant, sent in grant.map { ($0, sent) } }, uniquingKeysWith: { $1 })
    }

    package func days() async throws(StoreError) -> [UInt64] {
        try await database.read("SELECT DISTINCT day FROM grant_day ORDER BY day") {
            UInt64(clamping: $0.integer(0) ?? 0)
        }
    }

    package func answers(of grant: GrantID?) async throws(StoreError) -> [GrantID: [String: UInt64]] {
        let rows = try await database.read(
            "SELECT grant_id, outcome, answers FROM grant_answer WHERE true \(Self.and(grant))"
        ) { row in
            (row.text(0).flatMap(GrantID.init(rawValue:)), row.text(1), UInt64(clamping: row.integer(2) ?? 0))
        }
        return rows.reduce(into: [:]) { answers, row in
            guard let grant = row.0, let outcome = row.1 else { return }
            answers[grant, default: [:]][outcome] = row.2
        }
    }
}
