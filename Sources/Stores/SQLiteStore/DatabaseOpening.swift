import GRDB
import SQLiteSupport
import Storage

/// The settings of the database's connections.
enum DatabaseOpening {
    /// The number of connections that read mailboxes while the writer works. More connections than processor cores
    /// would not be faster.
    static let maximumReaders = 4
    /// How long a transaction waits for a lock of another program, for example a person's `sqlite3`, before the write
    /// fails. In seconds.
    static let lockPatience = 2.0
    /// The writer's page cache in KiB. The writer needs pages again that it has just written. Readers have no cache
    /// of this size: they seldom read a page twice, and the system caches the file as well.
    static let writerPageCache = 8 * 1024
    static let readerPageCache = 1024
    /// When the log has this many pages of 4 KiB, it is copied into the database. With the largest transaction
    /// (``GroupCommit/maximumPages``) it stays below ``maximumLogBytes``.
    static let checkpointPages = 384
    /// The largest size of the log. It limits what damage to the file can destroy, and what a start after a crash has
    /// to read.
    static let maximumLogBytes = 4 << 20

    /// Makes a new database. It gets its final name only when it is complete. So a file with that name is always a
    /// complete database.
    static func create(in folder: DatabaseFolder) throws(StoreError) {
        try folder.makeDatabase { path throws(SQLiteFailure) in
            do {
                let queue = try DatabaseQueue(path: path)
                try queue.inDatabase { database in
                    try database.execute(sql: "PRAGMA application_id = \(SQLiteSchema.applicationID)")
                }
                try SQLiteSchema.migrator.migrate(queue)
                try queue.close()
            } catch {
                throw SQLiteFailure(error)
            }
        }
    }

    /// - Parameter keepsLog: whether the log's file keeps its size. If false, the log is emptied, so that the next
    ///   start does not find the same damage in it again.
    static func open(in folder: DatabaseFolder, keepsLog: Bool = true) throws(StoreError) -> DatabasePool {
        let pool: DatabasePool?
        do {
            pool = try openUnlessNewer(folder.databasePath, keepsLog: keepsLog)
        } catch {
            throw folder.explain(SQLiteFailure(error))
        }
        guard let pool else { throw folder.newerVersionError }
        return pool
    }

    /// - Returns: Nil if a newer version made the database. It is then not changed.
    private static func openUnlessNewer(_ path: String, keepsLog: Bool) throws -> DatabasePool? {
        // Inspect the database first, because a pool writes to it as soon as it is made.
        var readOnly = Configuration()
        readOnly.readonly = true
        let inspection = try DatabaseQueue(path: path, configuration: readOnly)
        let isNewer = try inspection.inDatabase { try SQLiteSchema.migrator.hasBeenSuperseded($0) }
        try inspection.close()
        guard !isNewer else { return nil }

        let pool = try DatabasePool(path: path, configuration: configuration)
        try pool.writeWithoutTransaction { database in
            // GRDB sets NORMAL, which could lose the newest transactions in a power cut.
            try database.execute(sql: "PRAGMA synchronous = FULL")
        }
        try SQLiteSchema.migrator.migrate(pool)
        // Copy the log's contents into the database, so that the next transaction begins at the start of the log's
        // file. `WriteAheadLog` requires that no earlier transaction with the same salt follows the end of the log.
        // If a full disk has no room for the copy, the database can still be read. Do not empty the file: GRDB would
        // write to an empty one at the next start, when the disk may be full.
        try? pool.writeWithoutTransaction { _ = try $0.checkpoint(keepsLog ? .restart : .truncate) }
        return pool
    }

    /// Makes an empty database in memory. It has one connection, because another one would open another database.
    static func inMemory() throws(SQLiteFailure) -> DatabaseQueue {
        do {
            let queue = try DatabaseQueue(configuration: configuration)
            try SQLiteSchema.migrator.migrate(queue)
            return queue
        } catch {
            throw SQLiteFailure(error)
        }
    }

    private static var configuration: Configuration {
        var configuration = Configuration()
        configuration.label = "SQLiteStore"
        configuration.maximumReaderCount = maximumReaders
        configuration.busyMode = .timeout(lockPatience)
        // Allow this, because GRDB would end the process if a rollback fails. The next transaction tries the rollback
        // again.
        configuration.allowsUnsafeTransactions = true
        configuration.prepareDatabase { database in
            guard !database.configuration.readonly else {
                return try database.execute(sql: "PRAGMA cache_size = -\(readerPageCache)")
            }
            try database.execute(sql: "PRAGMA cache_size = -\(writerPageCache)")
            try database.execute(sql: "PRAGMA wal_autocheckpoint = \(checkpointPages)")
        }
        return configuration
    }
}
