import Dispatch
import GRDB
package import Notifications
package import PrivateFiles
package import SQLSupport
import SQLiteSupport
package import Storage

/// The store of the provider server, in one SQLite file. Only one process at a time can open it.
package final class SQLiteCampaignStore: SQLCampaignStore {
    /// The name of the database file in the folder.
    package static let fileName = "provider.sqlite"
    /// The largest number of connections that read. They serve pages of recipients and requests while another one
    /// writes.
    private static let maximumReaders = 4
    /// The size of the write-ahead log above which readers have to wait until it was cut. Finding an audience of a
    /// million takes seconds, and as long as it takes the log grows.
    private static let maximumLogBytes = 64 << 20

    package let database: any SQLDatabase
    package let identity: [UInt8]? = nil
    package let now: @Sendable () -> Timestamp
    package let waitingDeliveries: Int64
    private let lock: FolderLock

    /// Opens the store in an existing folder. Creates the file if it is missing.
    /// - Parameter lock: the lock of the folder; nil lets the store take it.
    package init(
        folder: String,
        lock: FolderLock? = nil,
        now: @escaping @Sendable () -> Timestamp,
        waitingDeliveries: Int64 = HookDelivery.waitingDeliveries,
    ) throws(StoreError) {
        self.now = now
        self.waitingDeliveries = waitingDeliveries
        let path = folder + "/" + Self.fileName
        if let lock { self.lock = lock } else { self.lock = try FolderLock.ofProviderServer(folder) }
        // SQLite itself removes the log before its index. Without the log it would go on as if the newest transactions had
        // never been.
        if try !Files.exists(path + "-wal"), try Files.exists(path + "-shm") {
            throw StoreError(
                .unreadable,
                "\(path)-wal is missing, with everything newer than \(path); the last server did not end cleanly. Restore a "
                    + "backup, or delete \(path)-shm to go on without what is lost.")
        }
        // Create the file first, so that only the owner can ever read it.
        if try !Files.exists(path) { _ = try Files.make(path, [], replacing: false) }
        let pool: DatabasePool
        do {
            pool = try Self.open(path)
        } catch let error as StoreError {
            throw error
        } catch {
            throw SQLiteFailure(error).storeError
        }
        database = SQLiteDatabase(
            pool,
            commits: GroupCommit(
                pool, maximumLogBytes: Self.maximumLogBytes, files: try DatabaseFiles(of: path)))
    }

    private static func open(_ path: String) throws -> DatabasePool {
        var configuration = Configuration()
        configuration.label = "CampaignStore"
        configuration.maximumReaderCount = maximumReaders
        configuration.busyMode = .timeout(2)
        // Allow this, because GRDB would end the process if a rollback fails. The next transaction tries it again.
        configuration.allowsUnsafeTransactions = true
        configuration.prepareDatabase { $0.add(function: NumberOrder.function) }
        let pool = try DatabasePool(path: path, configuration: configuration)
        // GRDB's default is NORMAL. With it, a power cut can lose the newest transactions.
        try pool.writeWithoutTransaction { try $0.execute(sql: "PRAGMA synchronous = FULL") }
        guard try !pool.read(SQLiteCampaignSchema.migrator.hasBeenSuperseded) else {
            throw StoreError(.unreadable, "\(path) was made by a newer version: use that version.")
        }
        try SQLiteCampaignSchema.migrator.migrate(pool)
        return pool
    }
}
