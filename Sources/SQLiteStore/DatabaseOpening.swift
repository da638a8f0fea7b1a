import Delivery
import GRDB

/// The settings of the database's connections.
enum DatabaseOpening {
    /// For reading mailboxes while the writer works. More readers than cores are not faster.
    static let maximumReaders = 4
    /// In seconds: the time that a transaction waits for a lock of another program, for example a person's `sqlite3`,
    /// before the write is refused.
    static let lockPatience = 2.0
    /// In KiB. The writer uses pages again that it has just written. A reader seldom reads a page twice, and the system
    /// caches the file as well.
    static let writerPageCache = 8 * 1024
    static let readerPageCache = 1024
    /// In pages of 4 KiB: a log of this length is copied into the database. With the largest transaction
    /// (``GroupCommit/maximumPages``) the log stays below ``maximumLogBytes``.
    static let checkpointPages = 384
    /// The largest size of the log. It limits what damage to the file can destroy, and what a start after a crash has
    /// to read.
    static let maximumLogBytes = 4 << 20

    /// Makes a new database. It gets its final name when it is complete, so a database with that name is always one of
    /// ours.
    static func create(in folder: DatabaseFolder) throws(StoreError) {
        try folder.makeDatabase { path throws(SQLiteFailure) in
            do {
                let queue = try DatabaseQueue(path: path)
                try queue.inDatabase { database in
                    try database.execute(sql: "PRAGMA application_id = \(Schema.applicationID)")
                }
                try Schema.migrator.migrate(queue)
                try queue.close()
            } catch {
                throw SQLiteFailure(error)
            }
        }
    }

    /// - Parameter keepsLog: whether the log's file keeps its size. If not, what is damaged in it is gone, so that the
    ///   next start does not find it again.
    static func open(in folder: DatabaseFolder, keepsLog: Bool = true) throws(StoreError) -> DatabasePool {
        let pool: DatabasePool?
        do {
            pool = try openUnlessNewer(folder.databasePath, keepsLog: keepsLog)
        } catch {
            throw folder.explain(SQLiteFailure(error))
        }
        guard let pool else { throw folder.newer }
        return pool
    }

    /// - Returns: Nil for a database of a newer version, which is not changed.
    private static func openUnlessNewer(_ path: String, keepsLog: Bool) throws -> DatabasePool? {
        // A pool writes to the database as soon as it is made.
        var readOnly = Configuration()
        readOnly.readonly = true
        let inspection = try DatabaseQueue(path: path, configuration: readOnly)
        let isNewer = try inspection.inDatabase { try Schema.migrator.hasBeenSuperseded($0) }
        try inspection.close()
        guard !isNewer else { return nil }

        let pool = try DatabasePool(path: path, configuration: configuration)
        try pool.writeWithoutTransaction { database in
            // GRDB sets NORMAL, with which a power cut can lose the newest transactions.
            try database.execute(sql: "PRAGMA synchronous = FULL")
        }
        try Schema.migrator.migrate(pool)
        // Copies what the log holds into the database, so that the next transaction begins a new log in the same file:
        // `WriteAheadLog` requires that no earlier transaction with the same salt follows the log's end. A full disk may
        // have no room for the copy, but the database can still be read. The file keeps its size, because GRDB writes to
        // an empty one, and the next start may be on a full disk.
        try? pool.writeWithoutTransaction { _ = try $0.checkpoint(keepsLog ? .restart : .truncate) }
        return pool
    }

    private static var configuration: Configuration {
        var configuration = Configuration()
        configuration.label = "SQLiteStore"
        configuration.maximumReaderCount = maximumReaders
        configuration.busyMode = .timeout(lockPatience)
        // If a rollback fails, the next transaction tries it again. GRDB would end the process.
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
