import Delivery
import PostgresClient
import Storage
import Synchronization

/// A node: one of the services that use the same database.
package struct PostgresNode: Sendable, Hashable {
    /// The node's name. No other node of the database may have it.
    package let name: String
    /// Random bytes that are kept in the data folder. By them a node that was killed can take its own name again at
    /// once.
    package let identity: [UInt8]

    package init(name: String, identity: [UInt8]) {
        self.name = name
        self.identity = identity
    }

    /// No service can have this name, because of the space.
    private static let copyName = "store copy"

    /// `carillon store copy`, which has to be alone.
    package static func copy(identity: [UInt8]) -> PostgresNode { PostgresNode(name: copyName, identity: identity) }

    var isCopy: Bool { name == Self.copyName }
}

// A node's lease says that it lives. It is renewed, and runs out by itself if the node dies.
extension PostgresStore {
    /// The time for which the lease lasts without a renewal: longer than a failover usually takes, and short enough
    /// that another machine can soon take the name of one that was lost.
    static let leaseSeconds: Int64 = 15

    struct Lease: Sendable {
        /// Why another process has what belongs to this node: its name, or its identity; nil if none has.
        var refusal: StoreError?
        var renewed: ContinuousClock.Instant
        /// How often this node has taken a new lease.
        var term: UInt64 = 0

        /// Whether the time of the lease has passed, by this machine's clock. That clock also runs while the process is
        /// stopped or the machine sleeps. The server counts from a later moment, so the node gives up first.
        func hasRunOut(at now: ContinuousClock.Instant) -> Bool {
            renewed.duration(to: now) >= .seconds(PostgresStore.leaseSeconds)
        }

        /// The time until the lease runs out; zero if it has, or if another process has what belongs to this node.
        func remaining(at now: ContinuousClock.Instant) -> Duration {
            guard refusal == nil else { return .zero }
            return max(.zero, .seconds(PostgresStore.leaseSeconds) - renewed.duration(to: now))
        }

        /// Changes as soon as the lease has run out, before anything has noticed it, and again with the next lease, which
        /// gives up what was taken in between.
        func holdTerm(at now: ContinuousClock.Instant) -> UInt64 { term &* 2 &+ (hasRunOut(at: now) ? 1 : 0) }
    }

    /// Takes a lease. Devices that the node held before are given up.
    /// - Parameters:
    ///   - start: the random bytes that name this start of the node.
    ///   - isStart: whether the node starts. One that was away for a while is still being drained.
    ///   - clock: what is known of the server's clock.
    /// - Returns: Why it was not taken; nil if it was.
    static func join(
        as node: PostgresNode,
        start: [UInt8],
        isStart: Bool,
        clock: DatabaseClock,
        on connection: PostgresConnection,
    ) async throws(PostgresError) -> StoreError? {
        // Check this before giving anything up that a later start has taken.
        let later = PostgresStatement(
            """
            SELECT 1 FROM carillon.node
            WHERE identity = $1 AND start <> $2 AND until > clock_timestamp() AND NOT $3
            """, [.bytes(node.identity), .bytes(start), .bool(isStart)])
        if try await connection.execute([later]).first?.count != 0 { return .identityTaken(node.name) }
        try await giveUp(node.identity, isOwn: true, clock: clock, on: connection)
        try await giveUpFormer(node, on: connection)
        return try await connection.transaction { transaction throws(PostgresError) in
            let (identity, name) = (PostgresValue.bytes(node.identity), PostgresValue.bytes(Array(node.name.utf8)))
            // The row is the lock for nodes that start at the same time.
            try transaction.execute("SELECT 1 FROM carillon.schema_version WHERE is_only FOR UPDATE")
            guard try transaction.execute(later).count == 0 else { return .identityTaken(node.name) }
            let others = try transaction.execute(
                "SELECT name FROM carillon.node WHERE identity <> $1 AND until > clock_timestamp()", [identity]
            ).map { String(decoding: $0.bytes(0) ?? [], as: UTF8.self) }
            if node.isCopy {
                if let other = others.first { return .inUse(by: other) }
            } else {
                if others.contains(PostgresNode.copy(identity: []).name) { return .beingCopied }
                if others.contains(node.name) { return .nameTaken(node.name) }
                guard try transaction.execute("SELECT 1 FROM carillon.unfinished_copy").count == 0 else {
                    return .unfinishedCopy
                }
            }
            try transaction.execute("DELETE FROM carillon.node WHERE name = $2 AND identity <> $1", [identity, name])
            for statement in leaving(node.identity) { try transaction.execute(statement) }
            try transaction.execute(
                """
                INSERT INTO carillon.node AS node (identity, name, until, start)
                VALUES ($1, $2, clock_timestamp() + $3 * interval '1 second', $5)
                ON CONFLICT (identity) DO UPDATE SET name = excluded.name, until = excluded.until,
                    start = excluded.start,
                    state = CASE WHEN $4 THEN 0 ELSE node.state END, peer = CASE WHEN $4 THEN NULL ELSE node.peer END
                """, [identity, name, .integer(leaseSeconds), .bool(isStart), .bytes(start)])
            return nil
        }
    }

    /// The largest number of devices or announcements of a node that one statement gives up. At the rate of a slow disk
    /// this takes an eighth of a second, while all devices of a large node would take longer than a statement may.
    static let holdsPerPage = 5000

    /// Statements that give up what a node still holds. Most of it was given up before, page by page.
    static func leaving(_ identity: [UInt8]) -> [PostgresStatement] {
        [
            PostgresStatement("UPDATE carillon.device SET node = NULL WHERE node = $1", [.bytes(identity)]),
            PostgresStatement("DELETE FROM carillon.announcement WHERE node = $1", [.bytes(identity)]),
        ]
    }

    /// Gives up what a node holds, each page in a transaction of its own. Leaves out what other transactions are changing.
    /// - Parameters:
    ///   - isOwn: whether the caller is the node. If it is not, nothing is given up once the node is back, and the lock on the
    ///     node's row keeps it from coming back meanwhile.
    ///   - clock: keeps a page from being executed so late that the node may have taken devices again.
    static func giveUp(
        _ identity: [UInt8],
        isOwn: Bool,
        clock: DatabaseClock? = nil,
        on connection: PostgresConnection,
    ) async throws(PostgresError) {
        // fits: a constant
        let values: [PostgresValue] = [.bytes(identity), .integer(Int64(holdsPerPage)), .bool(isOwn)]
        func execute(_ sql: StaticString) async throws(PostgresError) -> Int {
            let page = PostgresStatement(sql, values)
            return try await connection.execute((clock?.promptnessCheck() ?? []) + [page]).last?.affected ?? 0
        }
        try await repeatPages { () async throws(PostgresError) in
            try await execute(
                """
                UPDATE carillon.device AS d SET node = NULL FROM (
                    SELECT d.device, d.environment FROM carillon.node AS node
                    JOIN carillon.device AS d ON d.node = node.identity
                    WHERE node.identity = $1 AND ($3 OR node.until < clock_timestamp())
                    LIMIT $2 FOR SHARE OF node FOR NO KEY UPDATE OF d SKIP LOCKED
                ) AS page
                WHERE d.device = page.device AND d.environment = page.environment
                """)
        }
        try await repeatPages { () async throws(PostgresError) in
            try await execute(
                """
                DELETE FROM carillon.announcement AS a USING (
                    SELECT a.node, a.device, a.environment, a.app FROM carillon.node AS node
                    JOIN carillon.announcement AS a ON a.node = node.identity
                    WHERE node.identity = $1 AND ($3 OR node.until < clock_timestamp())
                    LIMIT $2 FOR SHARE OF node FOR UPDATE OF a SKIP LOCKED
                ) AS page
                WHERE a.node = page.node AND a.device = page.device AND a.environment = page.environment
                    AND a.app = page.app
                """)
        }
    }

    /// Gives up what earlier nodes of the same name hold, whose rows are about to be removed.
    private static func giveUpFormer(
        _ node: PostgresNode,
        on connection: PostgresConnection,
    ) async throws(PostgresError) {
        let former = try await connection.execute(
            "SELECT identity FROM carillon.node WHERE name = $1 AND identity <> $2 AND until < clock_timestamp()",
            [.bytes(Array(node.name.utf8)), .bytes(node.identity)])
        for index in 0..<former.count {
            if let identity = former[index].bytes(0) { try await giveUp(identity, isOwn: false, on: connection) }
        }
    }

    private static func repeatPages(
        _ page: () async throws(PostgresError) -> Int,
    ) async throws(PostgresError) {
        while try await page() >= holdsPerPage {}
    }

    /// Renews the lease if it is time for that. If the lease has expired, other nodes may have freed this node's
    /// devices. So a new term begins, in which the node holds no devices.
    func renewLease() async throws(PostgresError) {
        let now = ContinuousClock.now
        let present = lease.withLock { $0 }
        let isUrgent = present.refusal != nil || wasStopped || confirmationError.withLock { $0 != nil }
        guard isUrgent || present.renewed.duration(to: now) >= configuration.leaseRenewal else { return }
        if present.refusal == nil, !present.hasRunOut(at: now) {
            let renewal = PostgresStatement(
                """
                UPDATE carillon.node SET until = clock_timestamp() + $2 * interval '1 second'
                WHERE identity = $1 AND until > clock_timestamp() AND start = $3
                """, [.bytes(configuration.node.identity), .integer(Self.leaseSeconds), .bytes(start)])
            let answers = try await control.execute([Self.clockReading, renewal])
            recordClock(answers.first, sent: now)
            // If the answer came too late, the streams have ended by now, and a new term begins.
            if answers.last?.affected == 1, !present.hasRunOut(at: .now) { return renewed(at: now, refusal: nil) }
        }
        // A new term, even if `join` fails: the devices may have been given up, and each has to be taken again.
        let refusal: StoreError?
        do throws(PostgresError) {
            refusal = try await Self.join(
                as: configuration.node, start: start, isStart: false, clock: clock.withLock(\.self), on: control)
        } catch {
            lease.withLock { $0.term += 1 }
            throw error
        }
        renewed(at: now, refusal: refusal, isNewTerm: true)
    }

    /// - Parameters:
    ///   - now: when the renewal began.
    ///   - isNewTerm: whether a new term begins, at the same moment: the old term may not come back for an instant.
    private func renewed(at now: ContinuousClock.Instant, refusal: StoreError?, isNewTerm: Bool = false) {
        lease.withLock { lease in
            (lease.refusal, lease.renewed) = (refusal, now)
            if isNewTerm { lease.term += 1 }
        }
        stopDetector.withLock { $0.renewed(at: now) }
        confirmationError.withLock { $0 = nil }
    }

    /// Ends the lease, so that another machine can take the name at once.
    func endLease() async {
        guard lease.withLock({ $0.refusal == nil }) else { return }
        let identity = configuration.node.identity
        let end = PostgresStatement(
            "DELETE FROM carillon.node WHERE identity = $1 AND start = $2", [.bytes(identity), .bytes(start)])
        // If this fails, the lease expires by itself, and other nodes free the devices.
        do throws(PostgresError) {
            // A later start may have the lease without this process having noticed it.
            let own = try await control.execute(
                "SELECT 1 FROM carillon.node WHERE identity = $1 AND start = $2", [.bytes(identity), .bytes(start)])
            guard own.count == 1 else { return }
            let clock = clock.withLock(\.self)
            try await Self.giveUp(identity, isOwn: true, clock: clock, on: control)
            _ = try await control.execute(clock.promptnessCheck() + Self.leaving(identity) + [end])
        } catch {
            return
        }
    }

    /// Frees the devices of lost nodes, page by page, so that no announcements are made to these nodes. The lock on a
    /// node's row keeps the node from coming back meanwhile.
    /// - Returns: Whether there may be more.
    func removeGoneNodes() async throws(PostgresError) -> Bool {
        let page = PostgresValue.integer(Int64(Self.holdsPerPage))
        let answers = try await control.execute([
            PostgresStatement(
                """
                UPDATE carillon.device AS d SET node = NULL FROM (
                    SELECT d.device, d.environment FROM carillon.node AS node
                    JOIN carillon.device AS d ON d.node = node.identity
                    WHERE node.until < clock_timestamp() - interval '1 minute'
                    LIMIT $1 FOR SHARE OF node SKIP LOCKED FOR NO KEY UPDATE OF d SKIP LOCKED
                ) AS held
                WHERE d.device = held.device AND d.environment = held.environment
                """, [page]),
            PostgresStatement(
                """
                DELETE FROM carillon.announcement AS a USING (
                    SELECT a.node, a.device, a.environment, a.app FROM carillon.node AS node
                    JOIN carillon.announcement AS a ON a.node = node.identity
                    WHERE node.until < clock_timestamp() - interval '1 minute'
                    LIMIT $1 FOR SHARE OF node SKIP LOCKED FOR UPDATE OF a SKIP LOCKED
                ) AS page
                WHERE a.node = page.node AND a.device = page.device AND a.environment = page.environment
                    AND a.app = page.app
                """, [page]),
            PostgresStatement(
                """
                DELETE FROM carillon.node AS node WHERE until < clock_timestamp() - interval '1 day'
                    AND NOT EXISTS (SELECT FROM carillon.device AS d WHERE d.node = node.identity)
                    AND NOT EXISTS (SELECT FROM carillon.announcement AS a WHERE a.node = node.identity)
                """),
        ])
        return answers.prefix(2).contains { $0.affected >= Self.holdsPerPage }
    }
}

extension StoreError {
    static let leaseHasRunOut = StoreError(
        .unavailable,
        "This node could not renew its lease for \(PostgresStore.leaseSeconds) seconds, so it may not use its devices' "
            + "connections.")

    static let changesStall = StoreError(
        .unavailable,
        "PostgreSQL has not confirmed a change for \(PostgresStore.maximumStall.components.seconds) seconds: is its "
            + "synchronous standby there, and does a transaction hold locks?")

    static func inUse(by node: String) -> StoreError {
        StoreError(
            .unavailable,
            "The node \(node) uses it: stop all nodes. One that was killed counts for "
                + "\(PostgresStore.leaseSeconds) seconds.")
    }

    static let beingCopied = StoreError(
        .unavailable,
        "It is being copied: wait until carillon store copy has ended. If that was killed, wait "
            + "\(PostgresStore.leaseSeconds) seconds.")

    static func identityTaken(_ name: String) -> StoreError {
        StoreError(
            .unavailable,
            "Another process has started as the node \(name), with a copy of its data folder or the same folder: stop it, or "
                + "start it with an empty folder.")
    }

    static func nameTaken(_ name: String) -> StoreError {
        StoreError(
            .unavailable,
            "Another node has the name \(name): give this one a name of its own with --node-name, or wait "
                + "\(PostgresStore.leaseSeconds) seconds after the other one has died.")
    }
}
