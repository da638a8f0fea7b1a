package import Notifications
package import PostgresClient
package import Storage

/// Checks that a server is suitable before a store uses it.
package enum PostgresServerCheck {
    /// The statements with which each new connection asks what the server is like, and sets its options.
    package static func setUp(_ limits: PostgresLimits) -> [PostgresStatement] {
        let limit = limits.timeLimit.components.seconds * 1000  // fits: a time limit, a setting
        return [
            PostgresStatement(
                "SELECT current_setting('server_version_num')::bigint, current_setting('server_version')"),
            PostgresStatement("SELECT current_setting('synchronous_commit')"),
            // The server must give up earlier than the client. Otherwise it could still complete a statement that the
            // client has already reported as failed.
            PostgresStatement(assembled: "SET statement_timeout = \(limit * 9 / 10)"),
            PostgresStatement(assembled: "SET lock_timeout = \(limit * 8 / 10)"),
            // If a client is stopped or cut off in a transaction, its locks would stop all others. Without these options,
            // the server notices a lost client after two hours.
            PostgresStatement(assembled: "SET idle_in_transaction_session_timeout = \(limit / 2)"),
            PostgresStatement("SET tcp_keepalives_idle = 5"),
            PostgresStatement("SET tcp_keepalives_interval = 2"),
            PostgresStatement("SET tcp_keepalives_count = 3"),
            PostgresStatement(assembled: "SET tcp_user_timeout = \(limit)"),
            // With this isolation each statement sees the newest committed state.
            PostgresStatement("SET default_transaction_isolation = 'read committed'"),
        ]
    }

    /// Decides from the answers to ``setUp`` whether a connection may be used.
    package static func check(_ answers: [PostgresRows], allowsAsynchronousCommit: Bool) throws(PostgresError) {
        guard let version = answers.first?.first?.integer(0), answers.count > 1 else {
            throw PostgresError(.unexpectedAnswer, "The server does not say its version.")
        }
        try check(version: version, named: answers.first?.first?.text(1) ?? "")
        guard allowsAsynchronousCommit || answers[1].first?.text(0) != "off" else { throw asynchronousCommit }
    }

    /// - Parameters:
    ///   - version: the major version times 10,000, plus the minor version.
    ///   - name: the version as the server shows it.
    package static func check(version: Int64, named name: String) throws(PostgresError) {
        guard version >= oldestVersion * 10_000 else {
            throw PostgresError(
                .unsuitable, "PostgreSQL \(name) is too old: the store needs PostgreSQL \(oldestVersion) or later.")
        }
    }

    /// The oldest major version that PostgreSQL's developers still support and that this store is tested with.
    private static let oldestVersion: Int64 = 15

    package static let asynchronousCommit = PostgresError(
        .unsuitable,
        "synchronous_commit is off, so PostgreSQL would lose in a crash what was accepted: set it to on for this user or "
            + "database. A node may also allow it with the setting store-asynchronous-commit.")

    /// The largest allowed difference between the clocks of this machine and of the server, and so between those of two servers that
    /// are the primary one after the other. Expiration times are compared with this machine's clock.
    package static let maximumClockDifference = Duration.seconds(10)

    /// - Throws: ``PostgresError/Kind/unsuitable`` if the clocks of this machine and of the server differ too much.
    static func checkClock(
        _ now: @Sendable () -> Timestamp,
        _ connection: PostgresConnection,
    ) async throws(PostgresError) {
        let rows = try await connection.execute(
            "SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint")
        guard let theirs = rows.first?.integer(0) else { throw .damaged("a time") }
        let (difference, isBeyond) = theirs.subtractingReportingOverflow(now().column)
        guard !isBeyond, .milliseconds(Int64(clamping: difference.magnitude)) <= maximumClockDifference else {
            let seconds = difference.magnitude / 1000
            throw PostgresError(
                .unsuitable,
                "The clock of this machine and the clock of PostgreSQL differ by \(seconds) seconds: set both by NTP.")
        }
    }
}

extension PostgresConnection {
    /// A connection of a store. Each time that it is made, it checks the server and sets its options.
    /// - Parameters:
    ///   - options: further statements that set options of each connection.
    ///   - allowsAsynchronousCommit: whether commits may be lost when the server crashes.
    package convenience init(
        to location: PostgresLocation,
        name: String,
        limits: PostgresLimits,
        options: [PostgresStatement] = [],
        allowsAsynchronousCommit: Bool = false,
    ) {
        self.init(location, name: name, limits: limits, setUp: PostgresServerCheck.setUp(limits) + options) {
            answers throws(PostgresError) in
            try PostgresServerCheck.check(answers, allowsAsynchronousCommit: allowsAsynchronousCommit)
        }
    }
}

extension PostgresMigrations {
    /// Prepares a database for a store that opens: compares the clocks, and makes or updates the tables.
    /// - Parameter clock: this machine's clock, which has to agree with the server's; nil if they are not to be compared.
    package func prepare(
        _ connection: PostgresConnection,
        clock: (@Sendable () -> Timestamp)?,
    ) async throws(StoreError) {
        let refusal: String?
        do throws(PostgresError) {
            if let clock { try await PostgresServerCheck.checkClock(clock, connection) }
            refusal = try await apply(connection)
        } catch {
            throw error.startError(schema: schema)
        }
        if let refusal { throw StoreError(.unreadable, refusal) }
    }
}
