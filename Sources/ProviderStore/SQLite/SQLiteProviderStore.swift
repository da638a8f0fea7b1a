package import Delivery
import Dispatch
import GRDB
package import Notifications
import PrivateFiles

#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// The store of the provider server, in one SQLite file. Only one process at a time can open it.
package final class SQLiteProviderStore: ProviderStore {
    /// The name of the database file in the folder.
    package static let fileName = "provider.sqlite"
    /// The largest number of connections that read. They serve pages of recipients and requests while another one
    /// writes.
    private static let maximumReaders = 4

    let pool: DatabasePool
    let writes: WriteQueue
    let now: @Sendable () -> Timestamp
    private let lock: Descriptor

    /// Opens the store in an existing folder. Creates the file if it is missing.
    package init(folder: String, now: @escaping @Sendable () -> Timestamp) throws(StoreError) {
        self.now = now
        let path = folder + "/" + Self.fileName
        lock = try Files.open(folder + "/provider.lock", O_RDWR | O_CREAT | O_NOFOLLOW)
        guard flock(lock.number, LOCK_EX | LOCK_NB) == 0 else {
            throw StoreError(.unavailable, "Another provider server uses \(folder): stop it, or choose another folder.")
        }
        // Create the file first, so that only the owner can ever read it.
        if try !Files.exists(path) { _ = try Files.make(path, [], replacing: false) }
        do {
            pool = try Self.open(path)
        } catch let error as StoreError {
            throw error
        } catch {
            throw (StoreError.of(error) as? StoreError) ?? StoreError(.unreadable, "\(error)")
        }
        writes = WriteQueue(pool)
    }

    private static func open(_ path: String) throws -> DatabasePool {
        var configuration = Configuration()
        configuration.label = "ProviderStore"
        configuration.maximumReaderCount = maximumReaders
        configuration.busyMode = .timeout(2)
        let pool = try DatabasePool(path: path, configuration: configuration)
        // GRDB's default is NORMAL. With it, a power cut can lose the newest transactions.
        try pool.writeWithoutTransaction { try $0.execute(sql: "PRAGMA synchronous = FULL") }
        guard try !pool.read(ProviderSchema.migrator.hasBeenSuperseded) else {
            throw StoreError(.unreadable, "\(path) was made by a newer version: use that version.")
        }
        try ProviderSchema.migrator.migrate(pool)
        return pool
    }

    /// Reads on one of the reading connections.
    func read<Value: Sendable>(
        _ body: @escaping @Sendable (Database) throws -> Value,
    ) async throws(StoreError) -> Value {
        do {
            return try await pool.read(body)
        } catch {
            throw Self.storeError(error)
        }
    }

    /// Writes. Converts every error to a `StoreError`, so `body` must not throw errors of its own.
    func write<Value: Sendable>(
        _ body: @escaping @Sendable (Database) throws -> Value,
    ) async throws(StoreError) -> Value {
        do {
            return try await writes.write(body)
        } catch {
            throw Self.storeError(error)
        }
    }

    private static func storeError(_ error: any Error) -> StoreError {
        StoreError.of(error) as? StoreError ?? StoreError(.unavailable, "The store failed: \(error)")
    }

    package func trouble() async -> StoreError? {
        do throws(StoreError) {
            // Try to write, because a full disk can still be read.
            try await write { try $0.execute(sql: "PRAGMA user_version = 0") }
            return nil
        } catch {
            return error
        }
    }

    package func close() async {
        writes.close()
        // Closing waits for open reads. Ignore a failure, because the process ends soon.
        await withCheckedContinuation { continuation in
            DispatchQueue.global().async { [pool] in
                try? pool.close()
                continuation.resume()
            }
        }
    }
}
