import PostgresClient
import PostgresSupport
import Storage
import Synchronization

// The clock of PostgreSQL's server, by which it is decided what came late. The answers of the lease and of what is stored
// bring a reading (decision 0087).
extension PostgresStore {
    /// Reads the server's clock, and the time of its start, which names the server: after a failover the primary has
    /// another clock.
    static let clockReading = PostgresStatement(
        """
        SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint,
            (extract(epoch FROM pg_postmaster_start_time()) * 1000000)::bigint
        """)

    /// Whether a parameter names the server that executes the statement.
    static func isServer(_ parameter: Int) -> String {
        "$\(parameter)::bigint = (extract(epoch FROM pg_postmaster_start_time()) * 1000000)::bigint"
    }

    /// The server's present time, in microseconds.
    static let serverTime = "(extract(epoch FROM clock_timestamp()) * 1000000)::bigint"

    /// Takes the answer to ``clockReading``.
    /// - Parameter sent: when the statements were passed to the connection.
    func recordClock(_ answer: PostgresRows?, sent: ContinuousClock.Instant) {
        guard let reading = DatabaseClock.Reading(answer, sent: sent) else { return }
        clock.withLock { $0.record(reading) }
    }

    /// Executes statements as one transaction, and reads the clock with them.
    func executeMeasured(
        _ statements: [PostgresStatement],
        on connection: PostgresConnection,
    ) async throws(StoreError) -> [PostgresRows] {
        let sent = ContinuousClock.now
        let answers = try await Self.execute([Self.clockReading] + statements, on: connection)
        guard answers.count == statements.count + 1 else {
            throw PostgresError(.unexpectedAnswer, "The server did not answer a statement.").storeError
        }
        recordClock(answers.first, sent: sent)
        return Array(answers.dropFirst())
    }

    /// Measures the clock of the server that a connection leads to.
    static func measureClock(on connection: PostgresConnection) async throws(StoreError) -> DatabaseClock {
        let sent = ContinuousClock.now
        let rows: PostgresRows?
        do throws(PostgresError) {
            rows = try await connection.execute([clockReading]).first
        } catch {
            throw error.startError(schema: PostgresSchema.all.schema)
        }
        var clock = DatabaseClock()
        if let reading = DatabaseClock.Reading(rows, sent: sent) { clock.record(reading) }
        return clock
    }

    // MARK: Changes that come late

    /// How late a change of a registration or a subscription may be made. The device asks another node when its connection
    /// has ended, so it does not wait for as long as a statement may be on its way. Longer than a store under load takes.
    static let promptness = Duration.seconds(2)

    /// Executes statements as one transaction, unless it is so late that another node may have been asked for the opposite
    /// and have answered meanwhile. The check comes last, when the transaction has all its locks: what other nodes change from
    /// then on comes later.
    /// - Returns: The statements' answers. A late transaction changes nothing, and throws ``StoreError/Code/unavailable``.
    func executePromptly(
        _ statements: [PostgresStatement],
        on connection: PostgresConnection,
    ) async throws(StoreError) -> [PostgresRows] {
        let checked = statements + clock.withLock { $0.promptnessCheck() }
        return Array(try await Self.execute(checked, on: connection).prefix(statements.count))
    }
}

extension DatabaseClock {
    /// The statement that fails if it is executed too late. There is none as long as the clock was not measured.
    func promptnessCheck() -> [PostgresStatement] {
        guard let latest = latest(at: .now.advanced(by: PostgresStore.promptness)) else { return [] }
        return [
            PostgresStatement(
                "SELECT carillon.demand_prompt($1, $2)", [.integer(latest.server), .integer(latest.time)])
        ]
    }
}

extension DatabaseClock.Reading {
    /// The answer to ``PostgresStore/clockReading``, which has just come.
    fileprivate init?(_ answer: PostgresRows?, sent: ContinuousClock.Instant) {
        guard let row = answer?.first, let time = row.integer(0), let server = row.integer(1) else { return nil }
        self.init(server: server, time: time, sent: sent, received: .now)
    }
}
