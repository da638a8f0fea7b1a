import Dispatch
import GRDB
package import Notifications
import PrivateFiles
import SQLiteSupport
package import Storage

/// The store of the provider server, in one SQLite file. Only one process at a time can open it.
package final class SQLiteCampaignStore: CampaignStore {
    /// The name of the database file in the folder.
    package static let fileName = "provider.sqlite"
    /// The largest number of connections that read. They serve pages of recipients and requests while another one
    /// writes.
    private static let maximumReaders = 4
    /// The size of the write-ahead log above which readers have to wait until it was cut. Finding an audience of a
    /// million takes seconds, and as long as it takes the log grows.
    private static let maximumLogBytes = 64 << 20

    let pool: DatabasePool
    private let writes: GroupCommit
    let now: @Sendable () -> Timestamp
    /// How many deliveries of a hook may wait.
    let waitingDeliveries: Int64
    private let lock: FolderLock

    package var isShared: Bool { false }

    /// Opens the store in an existing folder. Creates the file if it is missing.
    package init(
        folder: String,
        now: @escaping @Sendable () -> Timestamp,
        waitingDeliveries: Int64 = HookDelivery.waitingDeliveries,
    ) throws(StoreError) {
        self.now = now
        self.waitingDeliveries = waitingDeliveries
        let path = folder + "/" + Self.fileName
        lock = try FolderLock(folder)
        // Create the file first, so that only the owner can ever read it.
        if try !Files.exists(path) { _ = try Files.make(path, [], replacing: false) }
        do {
            pool = try Self.open(path)
        } catch let error as StoreError {
            throw error
        } catch {
            throw SQLiteFailure(error).storeError
        }
        writes = GroupCommit(
            pool, maximumLogBytes: Self.maximumLogBytes, files: try DatabaseFiles(of: path))
    }

    private static func open(_ path: String) throws -> DatabasePool {
        var configuration = Configuration()
        configuration.label = "CampaignStore"
        configuration.maximumReaderCount = maximumReaders
        configuration.busyMode = .timeout(2)
        // Allow this, because GRDB would end the process if a rollback fails. The next transaction tries it again.
        configuration.allowsUnsafeTransactions = true
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

    /// Writes in a transaction, together with the changes of other callers. If `body` throws, only its changes are undone.
    /// Converts every error to a `StoreError`, so `body` must not throw errors of its own.
    func write<Value: Sendable>(
        _ body: @escaping @Sendable (Database) throws -> Value,
    ) async throws(StoreError) -> Value {
        do {
            return try await commit(body)
        } catch {
            throw Self.storeError(error)
        }
    }

    /// Writes like ``write(_:)``, and throws the errors of `body` as they are.
    func commit<Value: Sendable>(_ body: @escaping @Sendable (Database) throws -> Value) async throws -> Value {
        let result = await writes.write(undoable: false) { database, _ throws(SQLiteFailure) in
            let written: Result<Value, any Error>
            do {
                written = .success(try Self.undoing(database, body))
            } catch let error as DatabaseError {
                throw SQLiteFailure(error)
            } catch {
                written = .failure(error)
            }
            return written
        } committed: {
            $0
        }
        return try result.get().get()
    }

    /// Runs `body`. If it throws, its changes are undone, and those of the other callers stay.
    private static func undoing<Value>(
        _ database: Database,
        _ body: (Database) throws -> Value,
    ) throws -> Value {
        var value: Value?
        try database.inSavepoint {
            value = try body(database)
            return .commit
        }
        guard let value else { throw StoreError.closed }
        return value
    }

    private static func storeError(_ error: any Error) -> StoreError {
        error as? StoreError ?? SQLiteFailure(error).storeError
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
        await writes.close()
        // Closing waits for open reads. Ignore a failure, because the process ends soon.
        await withCheckedContinuation { continuation in
            DispatchQueue.global().async { [pool] in
                try? pool.close()
                continuation.resume()
            }
        }
    }
}
