import CampaignStore
package import Notifications
package import PostgresClient
package import PostgresSupport
package import Storage
import Synchronization

/// The store of provider servers that share their work: all of them use one PostgreSQL database.
package final class PostgresCampaignStore: CampaignStore {
    package struct Configuration: Sendable {
        package var location: PostgresLocation
        /// The key that encrypts secrets. All servers of the database have the same.
        package var storeKey: StoreKey
        /// Random bytes that name this server. A server that was killed has the same after its next start, so it takes
        /// its own messages again at once.
        package var identity: [UInt8]
        package var now: @Sendable () -> Timestamp
        /// The number of connections that change something. A change of an installation has one for as long as it
        /// takes.
        package var writers = 8
        package var readers = 4
        /// How many deliveries of a hook may wait.
        package var waitingDeliveries = HookDelivery.waitingDeliveries
        package var limits = PostgresLimits()

        package init(
            location: PostgresLocation,
            storeKey: StoreKey,
            identity: [UInt8],
            now: @escaping @Sendable () -> Timestamp,
        ) {
            self.location = location
            self.storeKey = storeKey
            self.identity = identity
            self.now = now
        }
    }

    let configuration: Configuration
    private let writers: [PostgresConnection]
    private let readers: [PostgresConnection]
    private let next = Atomic<Int>(0)

    package var isShared: Bool { true }

    /// Opens the store and makes its tables if they are not there.
    /// - Throws: ``StoreError/Code/unavailable`` if the server cannot be reached or may lose commits.
    ///   ``StoreError/Code/unreadable`` if a newer version made the tables, or if the store key is not the one that
    ///   the store was made with.
    package static func open(_ configuration: Configuration) async throws(StoreError) -> PostgresCampaignStore {
        let first = connection(configuration)
        do throws(StoreError) {
            try await ProviderTables.migrations.prepare(first, clock: configuration.now)
            let store = PostgresCampaignStore(configuration, first)
            let known = try await store.keep(Self.checkValue, as: Self.checkName)
            guard known == Self.checkValue else { throw StoreError.wrongStoreKey }
            return store
        } catch {
            await first.close()
            throw error
        }
    }

    private init(_ configuration: Configuration, _ first: PostgresConnection) {
        self.configuration = configuration
        writers = [first] + (1..<max(1, configuration.writers)).map { _ in Self.connection(configuration) }
        readers = (0..<max(1, configuration.readers)).map { _ in Self.connection(configuration) }
    }

    private static func connection(_ configuration: Configuration) -> PostgresConnection {
        PostgresConnection(to: configuration.location, name: "carillon provider", limits: configuration.limits)
    }

    // MARK: Secrets

    /// The name and the value of the secret by which a server checks whether its store key is the right one.
    private static let checkName = "store/key"
    private static let checkValue = Array("carillon provider".utf8)

    /// Stores a secret that all servers of the database share. If there is one already, it stays.
    /// - Returns: The secret that is stored now.
    package func keep(_ value: [UInt8], as name: String) async throws(StoreError) -> [UInt8] {
        let sealed = try configuration.storeKey.seal(value, as: name)
        let answers = try await write([
            PostgresStatement(
                "INSERT INTO carillon_provider.secret VALUES ($1, $2) ON CONFLICT DO NOTHING",
                [.text(name), .bytes(sealed)]),
            PostgresStatement("SELECT value FROM carillon_provider.secret WHERE name = $1", [.text(name)]),
        ])
        guard let kept = answers.last?.first?.bytes(0) else { throw PostgresError.damaged("no secret").storeError }
        return try configuration.storeKey.unseal(kept, as: name)
    }

    // MARK: Carrying out

    private func one(of connections: [PostgresConnection]) -> PostgresConnection {
        let number = next.wrappingAdd(1, ordering: .relaxed).newValue
        return connections[Int(number.magnitude % UInt(connections.count))]
    }

    func read(_ sql: StaticString, _ values: [PostgresValue] = []) async throws(StoreError) -> PostgresRows {
        try await read(PostgresStatement(sql, values))
    }

    func read(_ statement: PostgresStatement) async throws(StoreError) -> PostgresRows {
        do throws(PostgresError) {
            guard let rows = try await one(of: readers).execute([statement]).first else {
                throw PostgresError(.unexpectedAnswer, "The server did not answer a statement.")
            }
            return rows
        } catch {
            // No statement wanted to change anything, so it is certain that nothing was changed.
            throw error.withoutChange.storeError
        }
    }

    /// Executes statements as one transaction.
    @discardableResult
    func write(_ statements: [PostgresStatement]) async throws(StoreError) -> [PostgresRows] {
        try await repeating { connection throws(PostgresError) in try await connection.execute(statements) }
    }

    /// Runs a transaction whose statements depend on each other's answers. It may run more than once.
    func transact<Value: Sendable>(
        _ body: @escaping @Sendable (PostgresTransaction) throws(PostgresError) -> Value,
    ) async throws(StoreError) -> Value {
        try await repeating { connection throws(PostgresError) in try await connection.transaction(body) }
    }

    /// The largest number of attempts to execute a transaction that PostgreSQL rolls back because of others.
    private static let attempts = 5

    /// Executes a transaction again if the database rolled it back because of another one: they waited for each other, or
    /// both added the same row. In the second attempt the row is there.
    private func repeating<Value: Sendable>(
        _ body: (PostgresConnection) async throws(PostgresError) -> Value,
    ) async throws(StoreError) -> Value {
        var failures = 0
        while true {
            do throws(PostgresError) {
                return try await body(one(of: writers))
            } catch {
                failures += 1
                guard error.kind == .conflict || error.kind == .uniqueViolation, failures < Self.attempts else {
                    throw error.storeError
                }
            }
        }
    }

    package func trouble() async -> StoreError? {
        do throws(PostgresError) {
            let rows = try await one(of: writers).execute("SELECT current_setting('transaction_read_only')")
            return rows.first?.text(0) == "on" ? PostgresError(.readOnly, "").storeError : nil
        } catch {
            return error.withoutChange.storeError
        }
    }

    package func close() async {
        for connection in writers + readers { await connection.close() }
    }
}
