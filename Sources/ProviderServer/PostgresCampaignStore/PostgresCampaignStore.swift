import CampaignStore
package import Notifications
package import PostgresClient
package import PostgresSupport
package import SQLSupport
package import Storage

/// The store of provider servers that share their work: all of them use one PostgreSQL database.
package final class PostgresCampaignStore: SQLCampaignStore {
    package struct Configuration: Sendable {
        package var location: PostgresLocation
        /// The key that encrypts secrets. All servers of the database have the same.
        package var storeKey: StoreKey
        /// Random bytes that name this server. A server that was killed has the same after its next start, so it takes
        /// its own messages again at once.
        package var identity: [UInt8]
        package var now: @Sendable () -> Timestamp
        /// This machine's clock that nobody sets. Only tests have another one.
        package var uptime: @Sendable () -> ContinuousClock.Instant = { .now }
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

    private let configuration: Configuration
    package let database: any SQLDatabase

    package var identity: [UInt8]? { configuration.identity }
    package var now: @Sendable () -> Timestamp { configuration.now }
    package var uptime: @Sendable () -> ContinuousClock.Instant { configuration.uptime }
    package var waitingDeliveries: Int64 { configuration.waitingDeliveries }

    /// Opens the store and makes its tables if they are not there.
    /// - Throws: ``StoreError/Code/unavailable`` if the server cannot be reached or may lose commits.
    ///   ``StoreError/Code/unreadable`` if a newer version made the tables, or if the store key is not the one that
    ///   the store was made with.
    package static func open(_ configuration: Configuration) async throws(StoreError) -> PostgresCampaignStore {
        let first = connection(configuration)
        do throws(StoreError) {
            try await PostgresCampaignSchema.migrations.prepare(first, clock: configuration.now)
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
        let writers = (1..<max(1, configuration.writers)).map { _ in Self.connection(configuration) }
        database = PostgresDatabase(
            writers: [first] + writers,
            readers: (0..<max(1, configuration.readers)).map { _ in Self.connection(configuration) })
    }

    /// The schema of the tables is the only one in which the server looks for names.
    private static func connection(_ configuration: Configuration) -> PostgresConnection {
        PostgresConnection(
            to: configuration.location, name: "carillon provider", limits: configuration.limits,
            options: [PostgresStatement("SET search_path = carillon_provider")])
    }

    // MARK: Secrets

    /// The name and the value of the secret by which a server checks whether its store key is the right one.
    private static let checkName = "store/key"
    private static let checkValue = Array("carillon provider".utf8)

    /// Stores a secret that all servers of the database share. If there is one already, it stays.
    /// - Returns: The secret that is stored now.
    package func keep(_ value: [UInt8], as name: String) async throws(StoreError) -> [UInt8] {
        let sealed = try configuration.storeKey.seal(value, as: name)
        let kept = try await database.write { transaction in
            try transaction.run("INSERT INTO secret VALUES (\(name), \(sealed)) ON CONFLICT DO NOTHING")
            return try transaction.rows("SELECT value FROM secret WHERE name = \(name)") { $0.bytes(0) ?? [] }.first
        }
        return try configuration.storeKey.unseal(kept ?? [], as: name)
    }
}
