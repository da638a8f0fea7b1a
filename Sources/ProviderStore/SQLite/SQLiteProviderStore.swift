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

/// The provider's store in one SQLite file. One process at a time can have it open.
package final class SQLiteProviderStore: ProviderStore {
    /// The database's file in the folder.
    package static let fileName = "provider.sqlite"
    /// Readers beside the writer: pages of recipients, and what requests ask.
    private static let maximumReaders = 4

    let pool: DatabasePool
    let writes: WriteQueue
    let now: @Sendable () -> Timestamp
    private let lock: Descriptor

    /// Opens the store in a folder, which has to exist. Makes the file if it is missing.
    package init(folder: String, now: @escaping @Sendable () -> Timestamp) throws(StoreError) {
        self.now = now
        let path = folder + "/" + Self.fileName
        lock = try Files.open(folder + "/provider.lock", O_RDWR | O_CREAT | O_NOFOLLOW)
        guard flock(lock.number, LOCK_EX | LOCK_NB) == 0 else {
            throw StoreError(.unavailable, "Another provider server uses \(folder): stop it, or choose another folder.")
        }
        // Only the owner may read it, from its first byte.
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
        // GRDB sets NORMAL, with which a power cut can lose the newest transactions.
        try pool.writeWithoutTransaction { try $0.execute(sql: "PRAGMA synchronous = FULL") }
        guard try !pool.read(ProviderSchema.migrator.hasBeenSuperseded) else {
            throw StoreError(.unreadable, "\(path) was made by a newer version: use that version.")
        }
        try ProviderSchema.migrator.migrate(pool)
        return pool
    }

    /// Reads on one of the readers' connections.
    func read<Value: Sendable>(
        _ body: @escaping @Sendable (Database) throws -> Value,
    ) async throws(StoreError) -> Value {
        do {
            return try await pool.read(body)
        } catch {
            throw Self.storeError(error)
        }
    }

    /// Writes what cannot fail for another reason than the store's.
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
            // A write, because a full disk can be read.
            try await write { try $0.execute(sql: "PRAGMA user_version = 0") }
            return nil
        } catch {
            return error
        }
    }

    package func close() async {
        writes.close()
        // Open reads end first. If it fails, the process is about to end anyway.
        await withCheckedContinuation { continuation in
            DispatchQueue.global().async { [pool] in
                try? pool.close()
                continuation.resume()
            }
        }
    }
}
