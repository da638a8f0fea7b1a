package import Delivery
import PostgresClient
import Synchronization

/// The name and the identity of a service that uses a database.
package struct PostgresUser: Sendable, Hashable {
    /// For messages: the machine's name.
    package let name: String
    /// Random bytes that the data folder keeps, so that a service that was killed continues at once.
    package let identity: [UInt8]

    package init(name: String, identity: [UInt8]) {
        self.name = name
        self.identity = identity
    }
}

// One service uses a database at a time, because a notification that another service stores would not reach the
// devices that are connected here. The hold on the database is renewed, and it ends by itself if the service dies.
extension PostgresStore {
    /// The time for which the hold lasts without a renewal: longer than a failover usually takes, and short enough
    /// that another machine soon replaces one that was lost.
    static let holdSeconds: Int64 = 15

    struct Hold: Sendable {
        /// Who has it instead of this service; nil if this service has it.
        var other: String?
        var renewed: ContinuousClock.Instant
    }

    /// Takes the hold if nobody else has it.
    /// - Returns: Who has it instead; nil if it was taken.
    static func takeHold(
        for user: PostgresUser,
        on connection: PostgresConnection,
    ) async throws(PostgresError) -> String? {
        try await connection.transaction { transaction throws(PostgresError) in
            // The row is the lock for services that start at the same time.
            try transaction.execute("SELECT 1 FROM carillon.schema_version WHERE is_only FOR UPDATE")
            let others = try transaction.execute(
                "SELECT name FROM carillon.node WHERE identity <> $1 AND until > clock_timestamp()",
                [.bytes(user.identity)])
            if let other = others.first { return other.text(0) ?? "another machine" }
            try transaction.execute("DELETE FROM carillon.node WHERE identity <> $1", [.bytes(user.identity)])
            try transaction.execute(
                """
                INSERT INTO carillon.node AS node (identity, name, until)
                VALUES ($1, $2, clock_timestamp() + $3 * interval '1 second')
                ON CONFLICT (identity) DO UPDATE SET name = excluded.name, until = excluded.until
                """, [.bytes(user.identity), .bytes(Array(user.name.utf8)), .integer(holdSeconds)])
            return nil
        }
    }

    /// Renews the hold if it is time for that, or takes it again if another service had it in the meantime.
    func renewHold() async throws(PostgresError) {
        let start = ContinuousClock.now
        let present = hold.withLock { $0 }
        guard present.other != nil || present.renewed.duration(to: start) >= configuration.holdRenewal else { return }
        let other = try await Self.takeHold(for: configuration.user, on: writers[0])
        hold.withLock { $0 = Hold(other: other, renewed: start) }
    }

    /// Lets another service begin at once.
    func endHold() async {
        guard hold.withLock({ $0.other == nil }) else { return }
        // If it fails, the hold ends by itself.
        _ = try? await writers[0].execute(
            "DELETE FROM carillon.node WHERE identity = $1", [.bytes(configuration.user.identity)])
    }
}

extension StoreError {
    static func inUse(by other: String) -> StoreError {
        StoreError(
            .unavailable,
            "A service on \(other) uses this database: stop it, or wait \(PostgresStore.holdSeconds) seconds after it "
                + "has died.")
    }
}
